"""The ground: types, limits, checks of arguments, files, compiled code."""
