"""Samplers and accounting of privacy mechanisms: functions that are independent of envs."""
