"""Compile a model again after a change, and only what the change reaches."""
