"""Envs of the three settings, one folder each: networks, private exploration and privatized feedback."""
