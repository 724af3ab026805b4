"""Weights of a float network as a safetensors file: no code in it, so a stranger's file is safe to read."""

from __future__ import annotations

import os
import pathlib

import safetensors
import safetensors.torch
import torch
from torch import nn

from mfsim.errors import ModelError
from mfsim.files import write_whole


def save_checkpoint(model: nn.Module, path: str | os.PathLike[str]) -> pathlib.Path:
    """Write parameters and buffers of `model` to a safetensors file, whole or not at all.

    Parameters
    ----------
    model : torch.nn.Module
        A float network.
    path : str or os.PathLike
        The file to write; one that is there is replaced.

    Returns
    -------
    pathlib.Path
        `path`.
    """
    # Copies: safetensors refuses tensors that share memory, as the weights of tied layers do.
    tensors = {
        name: tensor.detach().clone(memory_format=torch.contiguous_format)
        for name, tensor in model.state_dict().items()
    }
    return write_whole(path, safetensors.torch.save(tensors))


def load_checkpoint(model: nn.Module, path: str | os.PathLike[str]) -> nn.Module:
    """Fill parameters and buffers of `model` from a safetensors file.

    Parameters
    ----------
    model : torch.nn.Module
        A float network, changed in place; its tensors have the names and shapes of the file.
    path : str or os.PathLike
        A safetensors file.

    Returns
    -------
    torch.nn.Module
        `model` itself.

    Raises
    ------
    ModelError
        If the file cannot be read, holds other tensors or shapes than the model, or a value is NaN or
        infinite.
    """
    try:
        tensors = safetensors.torch.load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"the checkpoint `{path}` cannot be read: {reason}") from error
    expected = model.state_dict()
    for what, names in (
        ("lacks", expected.keys() - tensors.keys()),
        ("has an extra", tensors.keys() - expected.keys()),
    ):
        if names:
            raise ModelError(f"the checkpoint `{path}` does not suit the model: it {what} tensor `{min(names)}`")
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape:
            raise ModelError(
                f"tensor `{name}` of the checkpoint `{path}` must have the shape {tuple(expected[name].shape)}, "
                f"not {tuple(tensor.shape)}"
            )
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise ModelError(f"tensor `{name}` of the checkpoint `{path}` holds NaN or infinite values")
    model.load_state_dict(tensors)
    return model
