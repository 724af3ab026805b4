"""Quantization-aware training: the quantized network itself is trained, its scales stay as calibrated.

Rounding passes gradients straight through; saturated activations pass none. What is trained is what
runs: the forward pass has the codes of the device.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from mfsim.data.dataset import Split
from mfsim.keywords import check_keywords
from mfsim.quant.calibrate import check_constants, keep_trained
from mfsim.quant.network import QuantizedNetwork
from mfsim.train import Epoch, History, accuracy, fit


@check_keywords
def finetune(
    network: QuantizedNetwork,
    train: Split,
    validation: Split,
    *,
    epochs: int = 5,
    learning_rate: float = 0.001,
    batch_size: int = 64,
    seed: int = 0,
    progress: Callable[[Epoch, int], None] | None = None,
) -> History:
    """Train a quantized network in place; it is left as it was where no epoch is better on `validation`.

    Parameters
    ----------
    network : QuantizedNetwork
        Calibrated.
    train, validation : Split
        Images and labels to learn from, and to choose the best epoch by.
    epochs, learning_rate, batch_size, seed, progress
        As in `mfsim.train.fit`.

    Returns
    -------
    History
        All epochs, and the best of them.

    Raises
    ------
    RecipeError
        If a bias or threshold has grown out of its word, or the weights of a layer all become 0.
    ModelError
        If the loss is no longer a finite number, or `epochs` or `batch_size` is less than 1.
    ShapeError
        If the network's output does not suit the labels.
    """
    before = copy.deepcopy(network.state_dict())
    start = accuracy(network, validation)
    history = fit(
        network,
        train,
        validation,
        epochs=epochs,
        learning_rate=learning_rate,
        batch_size=batch_size,
        seed=seed,
        progress=progress,
    )
    if history.best.validation_accuracy < start:
        network.load_state_dict(before)
    else:
        keep_trained(network)
    check_constants(network)
    return history
