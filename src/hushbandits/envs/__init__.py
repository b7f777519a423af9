"""The three settings, a folder each: networks, private exploration and privatized feedback."""
