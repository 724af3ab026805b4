"""The ops of the integer program, in families: one folder each, collected in `REGISTRY`.

A file `mfsim/ops/<family>/<op>.py` with an `OP` is an op; adding the file adds the op. What else a family's folder
holds are the realisations of its ops, one file for each kind, which are imported when they are needed:

=================  ==================================================================
`kernels.py`       `run_<op>`, the plain kernel
`fast.py`          `prepare_<op>`, the fast kernel, and `<OP>_ISAS`, what it is for
`torch.py`         the torch function: integer forward, straight-through gradient
`quant.py`         the quantized layer
`onnx.py`          `MODEL_BODIES`, `INTEGER_BODIES`: ONNX functions by op
`lowering.py`      `RULES`: what the compiler makes of ONNX nodes
=================  ==================================================================
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType

from mfsim.errors import UnsupportedOpError, did_you_mean
from mfsim.ops.op import Op

REALISATIONS = ("kernels", "fast", "torch", "quant", "onnx", "onnx_model", "onnx_integer", "lowering")
"""Files of a family that hold no definition of an op."""

FAMILIES = tuple(sorted(info.name for info in pkgutil.iter_modules(__path__) if info.ispkg))
"""The families, in alphabetical order."""


def _collect() -> tuple[dict[str, Op], dict[str, str]]:
    registry, families = {}, {}
    for family in FAMILIES:
        package = importlib.import_module(f"{__name__}.{family}")
        for info in pkgutil.iter_modules(package.__path__):
            if info.name in REALISATIONS:
                continue
            op = getattr(importlib.import_module(f"{package.__name__}.{info.name}"), "OP", None)
            if op is not None:
                registry[op.name] = op
                families[op.name] = family
    return {name: registry[name] for name in sorted(registry)}, families


REGISTRY, _FAMILY_OF = _collect()
"""Every op by name."""


def get(name: str) -> Op:
    """Return the op called `name`; `UnsupportedOpError` names a close one."""
    if name not in REGISTRY:
        raise UnsupportedOpError(f"`{name}` is not an op of the integer program{did_you_mean(name, REGISTRY)}")
    return REGISTRY[name]


def family_of(name: str) -> str:
    """Return the family of the op called `name`; `UnsupportedOpError` names a close one."""
    return _FAMILY_OF[get(name).name]


def realisation(name: str, file: str) -> ModuleType:
    """Return the module `file`, one of `REALISATIONS`, of the family of the op called `name`."""
    return importlib.import_module(f"{__name__}.{family_of(name)}.{file}")


def realisations(file: str) -> Iterator[ModuleType]:
    """Yield the module `file`, one of `REALISATIONS`, of each family that has it."""
    for family in FAMILIES:
        package = importlib.import_module(f"{__name__}.{family}")
        if any(info.name == file for info in pkgutil.iter_modules(package.__path__)):
            yield importlib.import_module(f"{package.__name__}.{file}")


def plain_kernel(name: str) -> Callable[..., int | None]:
    """Return the plain kernel of the op called `name`: `run(inputs, attributes, outputs)`; see `mfsim.kernels`."""
    run: Callable[..., int | None] = getattr(realisation(name, "kernels"), f"run_{name}")
    return run


def fast_kernel(name: str) -> Callable[..., Callable[..., int | None] | None]:
    """Return the `prepare(inputs, outputs, attributes)` of the fast kernel of the op called `name`; see `mfsim.kernels`."""
    prepare: Callable[..., Callable[..., int | None] | None] = getattr(realisation(name, "fast"), f"prepare_{name}")
    return prepare


def fast_isas(name: str) -> tuple[str, ...]:
    """Return the levels of `mfsim.kernels.cpu` that the fast kernel of the op called `name` is written for."""
    return tuple(getattr(realisation(name, "fast"), f"{name.upper()}_ISAS"))
