"""Adapters of the array core to PettingZoo, Gymnasium, Stable-Baselines3 and TorchRL.

Only these modules use dicts keyed by agent.
"""
