"""SystemVerilog modules that several blocks use."""
