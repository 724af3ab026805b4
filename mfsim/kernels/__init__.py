"""Numba loops on int64 codes, one operation per file. This room knows no graph, no ONNX, no torch.

Each file has `run(inputs, attributes, outputs)`: C-contiguous int64 arrays in, preallocated
C-contiguous int64 arrays out (filled completely, for any batch size, 0 included); it returns the
number of overflow events, or None where none can happen. `attributes` are those of the op, complete.

The loops below `run` are the *plain form*: data moves only through `mfsim.kernels.primitives`, so
the same source, rebuilt with counting primitives, shows which operations are executed. Constants
are work done beforehand: plain numpy may prepare them in `run`.

An op whose time matters has a *fast form* too, in `fast_<op>.py`: the same codes, in whatever way the
processor is good at. Its `prepare(inputs, outputs, attributes)` sees the proved ranges, shapes and constants
(`operands.Operand`) once and returns a `run` of the same arguments, or None where the plain form has to do. That `run`
takes and fills codes of any integer type that holds them. `FORMS` names the levels of `mfsim.kernels.cpu`
that it is written for.
"""
