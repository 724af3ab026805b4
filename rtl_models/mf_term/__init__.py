"""One multiplication-free (MF) term: SystemVerilog, parameters, cycle model."""
