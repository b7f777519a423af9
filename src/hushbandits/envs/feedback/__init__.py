"""Privatized feedback: rewards of blocks of users reach a server through a privacy protocol."""
