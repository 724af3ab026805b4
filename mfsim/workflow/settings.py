"""How a network is trained and quantized: the numbers that the command line, the demo and scripts share.

A file of its own, without torch, so that the command line can show the defaults at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from mfsim.keywords import check_constructor


@check_constructor
@dataclass(frozen=True)
class Settings:
    """Training of the float network, then of the quantized one.

    Attributes
    ----------
    epochs, learning_rate, batch_size : of the float network; the learning rate is the highest one.
    seed : of the first weights and of the order of the images.
    quantized_epochs : of quantization-aware training; 0 is post-training quantization.
    quantized_learning_rate : the highest one.
    threads : of torch while it trains. One is quickest for small networks, and with one the weights do not
        depend on how many cores a machine has.
    reference_samples : test samples that are computed from the definitions of the ops as well, which
        is slow.
    """

    epochs: int = 40
    learning_rate: float = 0.005
    batch_size: int = 64
    seed: int = 0
    quantized_epochs: int = 30
    quantized_learning_rate: float = 0.001
    threads: int = 1
    reference_samples: int = 32


DEFAULTS = Settings()
"""The default settings."""
