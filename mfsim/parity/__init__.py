"""Realisations of one network, compared code by code."""
