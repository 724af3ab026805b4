"""Functions of `mfsim` for a torch model and numpy arrays: one call for a step that the rooms below do in several."""
