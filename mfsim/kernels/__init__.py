"""The kernel engine: how Numba kernels are compiled, chosen for the processor, and built. It knows no op, graph, ONNX or torch.

The kernels of an op lie in its family, `mfsim/ops/<family>/`, and have one form:

`run_<op>(inputs, attributes, outputs)` in `kernels.py` is the *plain kernel*. It takes C-contiguous int64 arrays and fills
preallocated C-contiguous int64 arrays completely, for any batch size, 0 included. It returns the number of overflow
events, or None where none can happen. `attributes` are those of the op, complete. Data move only through
`mfsim.kernels.primitives`, so the same source, rebuilt with counting primitives, shows which operations are executed.
Constants are work done beforehand: plain numpy may prepare them.

`prepare_<op>(inputs, outputs, attributes)` in `fast.py` is the *fast kernel* of an op whose time matters: the same codes, in
whatever way the processor is good at. It sees the proved ranges, shapes and constants (`operands.Operand`) once and
returns a `run` of the same arguments, or None where the plain kernel has to do. That `run` takes and fills codes of any
integer type that holds them. `<OP>_ISAS` names the levels of `mfsim.kernels.cpu` that it is written for.
"""
