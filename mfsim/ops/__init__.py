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

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

from mfsim.errors import UnsupportedOpError, did_you_mean
from mfsim.ops.op import Op
from mfsim.ops.traits import Signature, Trait

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
    """Return the op called `name`; `UnsupportedOpError` names a close one.

    Parameters
    ----------
    name : str
        Name of an op, in snake case.

    Returns
    -------
    Op
        The op.

    Raises
    ------
    UnsupportedOpError
        If there is none of that name.
    """
    if name not in REGISTRY:
        raise UnsupportedOpError(f"`{name}` is not an op of the integer program{did_you_mean(name, REGISTRY)}")
    return REGISTRY[name]


def family_of(name: str) -> str:
    """Return the family of the op called `name`; `UnsupportedOpError` names a close one.

    Parameters
    ----------
    name : str
        Name of an op, in snake case.

    Returns
    -------
    str
        One of `FAMILIES`.

    Raises
    ------
    UnsupportedOpError
        If there is no op of that name.
    """
    return _FAMILY_OF[get(name).name]


@functools.cache
def named(trait: Trait) -> frozenset[str]:
    """Return the names of the ops with `trait`.

    Parameters
    ----------
    trait : Trait
        What the ops have.

    Returns
    -------
    frozenset of str
        Keys of `REGISTRY`.
    """
    return frozenset(op.name for op in REGISTRY.values() if trait in op.traits)


@functools.cache
def op_types(trait: Trait) -> frozenset[str]:
    """Return what the ops with `trait` are called in model.onnx, masked forms included.

    Parameters
    ----------
    trait : Trait
        What the ops have.

    Returns
    -------
    frozenset of str
        Op types of the domain `org.mfsim`.
    """
    return frozenset(
        t for op in REGISTRY.values() if trait in op.traits and op.signature for t in op.signature.op_types
    )


@functools.cache
def signatures() -> Mapping[str, Signature]:
    """Return by op type, masked forms included, the signature of each op of `org.mfsim` in model.onnx."""
    stated = (op.signature for op in REGISTRY.values())
    return {op_type: signature for signature in stated if signature for op_type in signature.op_types}


def realisation(name: str, file: str) -> ModuleType:
    """Return the module `file`, one of `REALISATIONS`, of the family of the op called `name`.

    Parameters
    ----------
    name : str
        Name of an op, in snake case.
    file : str
        One of `REALISATIONS`.

    Returns
    -------
    module
        Imported when first asked for.

    Raises
    ------
    UnsupportedOpError
        If there is no op of that name.
    ModuleNotFoundError
        If the family has no such file.
    """
    return importlib.import_module(f"{__name__}.{family_of(name)}.{file}")


def realisations(file: str) -> Iterator[ModuleType]:
    """Yield the module `file`, one of `REALISATIONS`, of each family that has it.

    Parameters
    ----------
    file : str
        One of `REALISATIONS`.

    Yields
    ------
    module
        In the order of `FAMILIES`.
    """
    for family in FAMILIES:
        package = importlib.import_module(f"{__name__}.{family}")
        if any(info.name == file for info in pkgutil.iter_modules(package.__path__)):
            yield importlib.import_module(f"{package.__name__}.{file}")


def plain_kernel(name: str) -> Callable[..., int | None]:
    """Return the plain kernel of the op called `name`: `run(inputs, attributes, outputs)`; see `mfsim.kernels`.

    Parameters
    ----------
    name : str
        Name of an op, in snake case.

    Returns
    -------
    callable
        run(inputs, attributes, outputs) to the number of overflows, or None where none can happen.

    Raises
    ------
    UnsupportedOpError
        If there is no op of that name.
    """
    run: Callable[..., int | None] = getattr(realisation(name, "kernels"), f"run_{name}")
    return run


def fast_kernel(name: str) -> Callable[..., Callable[..., int | None] | None]:
    """Return the `prepare(inputs, outputs, attributes)` of the fast kernel of the op called `name`; see `mfsim.kernels`.

    Parameters
    ----------
    name : str
        Name of an op, in snake case, that has a fast kernel.

    Returns
    -------
    callable
        prepare(inputs, outputs, attributes) to a `run`, or None where the plain kernel has to do.

    Raises
    ------
    UnsupportedOpError
        If there is no op of that name.
    """
    prepare: Callable[..., Callable[..., int | None] | None] = getattr(realisation(name, "fast"), f"prepare_{name}")
    return prepare


def fast_isas(name: str) -> tuple[str, ...]:
    """Return the levels of `mfsim.kernels.cpu` that the fast kernel of the op called `name` is written for.

    Parameters
    ----------
    name : str
        Name of an op, in snake case, that has a fast kernel.

    Returns
    -------
    tuple of str
        Levels.

    Raises
    ------
    UnsupportedOpError
        If there is no op of that name.
    """
    return tuple(getattr(realisation(name, "fast"), f"{name.upper()}_ISAS"))
