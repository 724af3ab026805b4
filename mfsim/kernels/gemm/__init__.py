"""Exact integer matrix products on the best instructions of the processor."""
