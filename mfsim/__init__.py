"""mfsim: bit-true simulation, counting and export of multiplication-free networks."""

__version__ = "0.1.0"
