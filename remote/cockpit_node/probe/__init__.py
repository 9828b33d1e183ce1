"""Readings of one node: GPUs, host, network."""
