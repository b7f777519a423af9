"""Envs of the settings, one folder each: networks, private exploration, privatized feedback and linear contexts."""
