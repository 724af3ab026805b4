"""Hardware models, one folder per block: SystemVerilog, a cycle model and a bench. This release holds none yet."""
