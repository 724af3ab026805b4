"""Small decoders of characters, quantized on a short text, and all realisations of one step beside whole sequences."""

from __future__ import annotations

import numpy as np
import torch

from mfsim.compiler import compile_model
from mfsim.export.exporter import quantized_model
from mfsim.export.runtime import run, session
from mfsim.nn import models
from mfsim.parity.compare import codes_of
from mfsim.parity.reference import run_reference
from mfsim.quant import Recipe, fold, quantize
from mfsim.quant.decoding import decoder_step
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model
from mfsim.simulate import Decoding
from tests.bits import assert_bit_equal

TEXT = (
    "a quantizer is where precision is lost. sums of integers are exact, in any order; what a mask hides adds nothing. "
    "so a token sees the same codes, whether they were kept or made anew."
)
LETTERS = sorted(set(TEXT))
TOKENS = 6


def text_ids(tokens: int = TOKENS) -> torch.Tensor:
    """Return the whole text as int64 ids [N, tokens], cut into pieces that follow each other."""
    ids = torch.tensor([LETTERS.index(letter) for letter in TEXT])
    return ids[: len(ids) // tokens * tokens].reshape(-1, tokens)


def small_decoder(name: str = "nano-gpt", recipe: dict | None = None, seed: int = 0, **options):
    """Return a quantized decoder of one block with fresh weights, calibrated on the text.

    Queries are large, so that scores, and with them positions and masks, decide much.
    """
    sizes = {"vocabulary": len(LETTERS), "context": TOKENS, "width": 16, "depth": 1, "hidden": 16} | options
    model = models.create(name, seed=seed, **sizes)
    ids = text_ids(sizes["context"])
    model.train()
    with torch.no_grad():
        for block in model.blocks:
            block.attention.query.weight *= 8
        for _ in range(3):  # what batch norms see
            model(ids)
    return quantize(fold(model.eval(), ids[:2]), Recipe.from_dict(recipe or {}), ids)


@torch.no_grad()
def assert_step_equals(network, ids: torch.Tensor):
    """Fail unless every realisation of one step gives at every position the codes of the whole sequences.

    Returns the program of the step.
    """
    step = decoder_step(network)
    model = quantized_model(step, step.model.example())
    program = compile_model(model)
    expected = codes_of(program, {name: network(ids).numpy() for name in ("logits",)} | zero_rows(program))["logits"]
    decoding, fed, given = Decoding(program, len(ids)), [], []
    for position in range(ids.shape[1]):
        feeds = {name: codes.copy() for name, codes in decoding.caches.items()}
        fed.append(
            feeds | {"ids": ids[:, position : position + 1].numpy(), "position": np.full((len(ids), 1), position)}
        )
        logits = decoding.step(ids[:, position].numpy())["logits"]
        assert_bit_equal(logits[:, 0].astype(np.int64), expected[:, position], f"position {position}")
        given.append(logits)
    inputs = {name: np.concatenate([feeds[name] for feeds in fed]) for name in program.inputs}
    with_noise(program, inputs)
    logits = np.concatenate(given).astype(np.int64)
    few = {name: codes[:: len(ids)] for name, codes in inputs.items()}
    assert_bit_equal(run_reference(program, few)["logits"].astype(np.int64), logits[:: len(ids)])
    values = {
        name: codes if name in ("ids", "position") else real(program, name, codes) for name, codes in inputs.items()
    }
    torch_rows = step(*(torch.from_numpy(values[name]) for name in program.inputs))
    wanted = codes_of(program, {name: y.numpy() for name, y in zip(program.outputs, torch_rows, strict=True)})
    assert_bit_equal(wanted["logits"], logits)
    integers = integer_model(program)
    assert read_integer(integers).digest() == program.digest()
    for optimise in (True, False):
        found = codes_of(program, run(session(model, optimise), values))
        opened = session(integers, optimise)
        whole = {
            v.name: inputs[v.name].astype(np.int64 if "int64" in v.type else np.int32) for v in opened.get_inputs()
        }
        integral = run(opened, whole)
        for name in program.outputs:
            assert_bit_equal(found[name], wanted[name], name)
            assert_bit_equal(integral[name].astype(np.int64), wanted[name], name)
    return program


def with_noise(program, inputs: dict[str, np.ndarray]) -> None:
    """Fill the rows of the caches from the position on, which no token may see, with random codes."""
    rng = np.random.default_rng(4)
    for name in program.caches:
        word = program.tensors[name].format
        noise = rng.integers(word.lo, word.hi + 1, inputs[name].shape)
        late = np.arange(inputs[name].shape[1]) >= inputs["position"]
        inputs[name] = np.where(late[:, :, None], noise, inputs[name])


def real(program, name: str, codes: np.ndarray) -> np.ndarray:
    """Return float32 values of codes."""
    return np.ldexp(codes.astype(np.float32), program.tensors[name].scale.exponent)


def zero_rows(program) -> dict[str, np.ndarray]:
    """Return a zero for each output that is a row of a cache."""
    return {name: np.zeros(1) for name in program.outputs if name != "logits"}
