"""Pools: the greatest code or the sum of each window."""
