"""Rows of codes in the words that they are stored in: read, rounded, divided, written."""
