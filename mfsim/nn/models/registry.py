"""Networks by name, or by `package.module:callable` for a user's own."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from mfsim.errors import MfsimError, ModelError, ShapeError, UnsupportedOpError, did_you_mean
from mfsim.nn.models import decoder, dense_cnn, family_cnn, htma_resnet, mf_cnn, mf_mlp, min_transformer, vit, wht_cnn

BUILDERS: dict[str, Callable[..., nn.Module]] = {
    "mf-mlp": mf_mlp.build,
    "mf-cnn": mf_cnn.build,
    "wht-cnn": wht_cnn.build,
    "dense-cnn": dense_cnn.build,
    "adder-cnn": family_cnn.build_adder,
    "min-cnn": family_cnn.build_min,
    "shift-cnn": family_cnn.build_shift,
    "htma-resnet20": htma_resnet.build,
    "mini-vit": vit.build_mini,
    "compact-vit": vit.build_compact,
    "mf-vit": vit.build_mf,
    "min-transformer": min_transformer.build,
    "nano-gpt": decoder.build_nano,
    "gpt2-12": decoder.build_gpt2,
    "gpt2-36": decoder.build_gpt2_36,
    "qwen2-1.5b": decoder.build_qwen2,
}
NAMES = tuple(BUILDERS)
"""The built-in networks."""
TOKEN_NAMES = ("nano-gpt", "gpt2-12", "gpt2-36", "qwen2-1.5b")
"""Those that take token ids."""
IMAGE_NAMES = tuple(name for name in NAMES if name not in TOKEN_NAMES)
"""Those that take images."""


def resolve(path: str) -> Callable[..., nn.Module]:
    """Import and return the callable named `package.module:callable`.

    Modules in the current folder are found too.

    Parameters
    ----------
    path : str
        `package.module:callable`; the callable may be an attribute of another, with dots.

    Returns
    -------
    callable
        What makes the network; it is not called.

    Raises
    ------
    ModelError
        If the path has another form, the module is missing or fails, or it has no such callable.
    """
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute or attribute.count(":"):
        raise ModelError(
            f"a model must be one of {', '.join(NAMES)}, or package.module:callable, not {path!r}{did_you_mean(path, NAMES)}"
        )
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise ModelError(f"there is no module `{error.name}` for the model {path!r}") from error
        raise ModelError(
            f"the module `{module_name}` of the model {path!r} needs `{error.name}`, which is not installed"
        ) from error
    except Exception as error:
        raise ModelError(
            f"the module `{module_name}` of the model {path!r} cannot be imported: {_shown(error)}"
        ) from error
    finally:
        sys.path.remove(os.getcwd())
    target = module
    for part in attribute.split("."):
        if not hasattr(target, part):
            raise ModelError(f"the module `{module_name}` has no `{attribute}`{did_you_mean(part, dir(target))}")
        target = getattr(target, part)
    if not callable(target):
        raise ModelError(f"`{path}` must be a class or function that makes a module, not {type(target).__name__}")
    return target


def _shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _arguments(
    builder: Callable[..., nn.Module], path: str, given: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Return what to call `builder` with: those of `given` that it has parameters for, and all options."""
    try:
        parameters = inspect.signature(builder).parameters.values()
    except (TypeError, ValueError):
        return options
    known = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    anything = any(p.kind == p.VAR_KEYWORD for p in parameters)
    for name in options:
        if name not in known and not anything:
            raise UnsupportedOpError(
                f"the model {path!r} has no option `{name}`{did_you_mean(name, known - set(given))}"
            )
    return {name: value for name, value in given.items() if name in known or anything} | options


@contextlib.contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        yield


def create(
    name: str, input_shape: Sequence[int] = (1, 8, 8), classes: int = 10, *, seed: int | None = None, **options: Any
) -> nn.Module:
    """Return the network called `name` with fresh weights.

    Parameters
    ----------
    name : str
        One of `NAMES`, or `package.module:callable`. A callable of one's own gets `input_shape` and
        `classes` if it has parameters of these names, and must return a torch module.
    input_shape : (C, H, W)
        Of one image.
    classes : int
        At least 2.
    seed : int or None
        Of the weights; the global random state is left as it was. None takes the global one.
    options
        Passed on, such as `width`, `form`.

    Raises
    ------
    ModelError
        If the model is unknown, cannot be made, or is no torch module.
    ShapeError
        If the network cannot be made for these images.
    UnsupportedOpError
        If it has no such option.
    """
    shape = tuple(input_shape)
    if len(shape) != 3 or any(not isinstance(n, int) or n < 1 for n in shape):
        raise ShapeError(f"`input_shape` must be three ints (C, H, W) of at least 1, not {shape}")
    if classes < 2:
        raise ShapeError(f"`classes` must be at least 2, not {classes}")
    builder = BUILDERS[name] if name in BUILDERS else resolve(name)
    arguments = _arguments(builder, name, {"input_shape": shape, "classes": classes}, options)
    try:
        with _seeded(seed):
            model = builder(**arguments)
    except MfsimError:
        raise
    except Exception as error:
        raise ModelError(f"the model {name!r} cannot be made: {_shown(error)}") from error
    if not isinstance(model, nn.Module):
        raise ModelError(f"the model {name!r} must return a torch.nn.Module, not {type(model).__name__}")
    return model
