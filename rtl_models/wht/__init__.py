"""Pipelined Walsh-Hadamard transform: SystemVerilog, parameters, cycle model."""
