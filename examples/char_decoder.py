"""A decoder of characters through every step: trained, quantized, and run as two integer programs.

    python examples/char_decoder.py --model gpt2-12 --attention qkk

The first program takes whole sequences, the second one token and caches of earlier ones; both give the
same codes. The text is sums in words, so that what the network writes can be judged. Any decoder of
`mfsim.nn.models` will do: it is made small.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import tempfile

import numpy as np
import torch
from torch import nn

from mfsim import compare_realisations
from mfsim.analysis import count, memory
from mfsim.compiler import compile_model
from mfsim.export import export_quantized
from mfsim.nn import models
from mfsim.quant import Recipe, decoder_step, fold, quantize
from mfsim.simulate import Decoding

CONTEXT, BATCH = 32, 32
SMALL = {"width": 64, "depth": 2, "hidden": 128, "heads": 4}
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight"]


def sentences() -> list[str]:
    """Return every sum of two numbers up to four, in words and in random order."""
    sums = [f"{NUMBERS[a]} plus {NUMBERS[b]} is {NUMBERS[a + b]}. " for a in range(5) for b in range(5)]
    random.Random(0).shuffle(sums)
    return sums


def loss_of(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Return the cross entropy of each next character, in nats."""
    logits = model(ids[:, :CONTEXT])
    return nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def train(model: nn.Module, ids: torch.Tensor, steps: int, rate: float) -> None:
    """Train on random pieces of the text; a quantized network, too, whose scales stay."""
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    generator = torch.Generator().manual_seed(0)
    model.train()
    for _ in range(steps):
        starts = torch.randint(len(ids) - CONTEXT, (BATCH,), generator=generator)
        loss = loss_of(model, torch.stack([ids[start : start + CONTEXT + 1] for start in starts]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()


def main(folder: pathlib.Path, name: str = "nano-gpt", attention: str = "qvv3", steps: int = 300) -> None:
    """Run every step in `folder` and print what came out."""
    torch.set_num_threads(1)
    sums = sentences()
    text = "".join(random.Random(k).choice(sums) for k in range(2000))
    letters = sorted(set(text))
    ids = torch.tensor([letters.index(letter) for letter in text])
    pieces = ids[: len(ids) // (CONTEXT + 1) * (CONTEXT + 1)].reshape(-1, CONTEXT + 1)
    calibration, test = pieces[:64], pieces[64:96]
    model = models.create(name, vocabulary=len(letters), context=CONTEXT, attention=attention, seed=0, **SMALL)
    train(model, ids, steps, 3e-3)
    network = quantize(fold(model, test[:2, :CONTEXT]), Recipe.from_dict({}), calibration[:, :CONTEXT])
    train(network, ids, steps // 20, 1e-4)
    with torch.no_grad():
        print(f"nats for each character: float {loss_of(model, test):.4f}, quantized {loss_of(network, test):.4f}")

    whole = compare_realisations(network, test[:, :CONTEXT], references=1)
    for pair in whole.parity:
        print(f"{pair.name}: {pair.mismatches} of {pair.compared} codes differ")

    step = decoder_step(network)
    export_quantized(step, step.model.example(), folder / "step.onnx")
    one = compile_model(folder / "step.onnx")
    decoding = Decoding(one, len(test))
    columns = test[:, :CONTEXT].numpy().T
    logits = np.concatenate([decoding.step(column)["logits"] for column in columns], axis=1)
    codes = whole.codes["output"]
    print(f"program of sequences = step with caches: {np.count_nonzero(codes != logits)} of {codes.size} codes differ")
    cache = memory(one).cache
    print(f"cache: {cache.bytes_per_token} bytes for each token")
    print("operations of a step:", count(one).by_primitive())

    said = "two plus three is "
    writing = Decoding(one)
    for place in range(CONTEXT - 1):
        outputs = writing.step(np.array([letters.index(said[place])]))
        if place + 1 == len(said):
            said += letters[int(outputs["logits"].argmax())]
    print(f"it writes: {said}")


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description="A decoder of characters, from training to two integer programs.")
    parser.add_argument("folder", type=pathlib.Path, nargs="?", help="where step.onnx is kept")
    parser.add_argument("--model", default="nano-gpt", choices=models.TOKEN_NAMES)
    parser.add_argument("--attention", default="qvv3", help="a preset of attention whose units can be causal")
    parser.add_argument("--steps", type=int, default=300, help="of training")
    options = parser.parse_args()
    if options.steps < 1:
        parser.error(f"--steps must be at least 1, not {options.steps}")
    return options


if __name__ == "__main__":
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        main(options.folder or pathlib.Path(temporary), options.model, options.attention, options.steps)
