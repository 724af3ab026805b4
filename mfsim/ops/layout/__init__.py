"""Layout ops: codes move, and nothing is computed."""
