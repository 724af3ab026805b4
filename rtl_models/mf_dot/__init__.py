"""Dot product of multiplication-free (MF) terms: SystemVerilog, parameters, cycle model."""
