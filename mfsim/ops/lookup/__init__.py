"""Lookups: a function of one code, and rows of a table."""
