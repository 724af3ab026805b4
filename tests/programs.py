"""Random small programs over every op, and codes to feed them: seeded, so that a failure can be run again."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mfsim.errors import MfsimError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ir.program import Program, Tensor
from mfsim.ops.products import FORMS, GRIDS
from mfsim.ops.wht.wht import NORMS, ORDERS
from tests.program_functions import FUNCTIONS, aligned_weights, conv2d_of, matmul_of, power_weights

WIDEST = 24
"""Past this many bits a value is requantized before anything else happens to it."""
MOST = 300
"""Values with more codes in a sample are not used any further."""
ROUNDINGS = ("half_even", "half_up", "half_away", "floor", "ceil", "toward_zero")


def random_program(seed: int, nodes: int = 14) -> Program:
    """Return a valid program of about `nodes` nodes, of one or two inputs and some outputs."""
    rng = np.random.default_rng(seed)
    builder = ProgramBuilder()
    made = Maker(rng, builder)
    shape = tuple(int(n) for n in rng.choice((1, 2, 3, 4, 8), made.one(1, 2, 3, 3)))
    pool = []
    for k in range(rng.integers(1, 3)):
        word = Format(int(rng.integers(2, 9)), bool(rng.integers(2)))
        pool.append(builder.input(f"x{k}", shape, word, Scale.of(-int(rng.integers(0, 8)))))
    while len(made.names) < nodes:
        recent = pool[max(0, len(pool) - 6) :]
        x = builder.tensors[recent[rng.integers(len(recent))]]
        if x.sample_size > MOST:
            op = "slice"
        else:
            kinds = PLANES if len(x.shape) == 4 and rng.random() < 0.4 else tuple(MAKERS)
            narrower = "rescale" if x.scale.factors else "requantize"
            op = narrower if x.format.bits > WIDEST else made.one(*kinds)
        output = made.node(op, x, [builder.tensors[name] for name in pool])
        if output:
            pool.append(output)
    outputs = dict.fromkeys([pool[-1], *rng.choice(made.names, 2)])
    return builder.finish([str(name) for name in outputs])


def random_codes(program: Program, batch: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return codes for every input, the ends of their ranges among them."""
    rng = np.random.default_rng(seed)
    codes = {}
    for name in program.inputs:
        tensor = program.tensors[name]
        values = rng.integers(tensor.range.low, tensor.range.high, (batch, *tensor.shape[1:]), endpoint=True)
        for k, end in enumerate((tensor.range.low, tensor.range.high, 0)):
            values[k : k + 1] = end
        codes[name] = values
    return codes


class Maker:
    """Makes one node at a time; `names` are the tensors that they wrote."""

    def __init__(self, rng: np.random.Generator, builder: ProgramBuilder) -> None:
        self.rng, self.builder, self.names = rng, builder, []

    def node(self, op: str, x: Tensor, pool: list[Tensor]) -> str | None:
        """Return the output of a node of `op` that reads x, or None where x does not suit the op."""
        try:
            choice = MAKERS[op](self, x, pool)
            if choice is None:
                return None
            inputs, attributes = choice
            number = len(self.names)
            output = self.builder.node(op, inputs, attributes, name=f"{op}{number}", layer=f"layer{number // 3}")
        except MfsimError:
            return None
        self.names.append(output)
        return output

    def int(self, low: int, high: int) -> int:
        """Return an int in low..high."""
        return int(self.rng.integers(low, high, endpoint=True))

    def one(self, *values):
        """Return one of `values`."""
        return values[self.rng.integers(len(values))]

    def constant(self, shape, bits: int, scale: Scale, signed: bool = True) -> str:
        """Return a constant of random codes of a word, zeros and ends among them."""
        word = Format(bits, signed)
        codes = self.rng.integers(word.lo, word.hi, shape, endpoint=True)
        codes = np.where(self.rng.random(shape) < 0.2, 0, codes)
        return self.builder.constant("c", codes, word, scale)

    def bias(self, exponents: tuple[int, ...], outputs: int) -> list[str]:
        """Return a bias on the grid of an accumulator, or none."""
        if self.rng.random() < 0.4:
            return []
        scale = Scale(exponents, 0 if len(exponents) > 1 else None)
        return [self.constant((outputs,), self.int(4, 10), scale)]

    def weights(self, shape, axis: int, mf: bool, x: Tensor) -> tuple[list[str], dict]:
        """Return [weights, perhaps a bias] and the attributes of a product; output channels are `axis`."""
        outputs, ex, attributes = shape[axis], x.scale.exponent, {}
        exponents = tuple(self.int(-8, -1) for _ in range(self.one(1, outputs)))
        if mf:
            attributes = self.mf()
            if attributes["grid"] == "shared":
                exponents = (ex,)
            elif attributes["grid"] == "aligned":
                exponents = exponents[:1]
        scale = Scale(exponents, axis if len(exponents) > 1 else None)
        w = self.constant(shape, self.int(2, 8), scale)
        return [w, *self.bias(tuple(min(ex, e) if mf else ex + e for e in scale.exponents), outputs)], attributes

    def mf(self) -> dict:
        """Return the attributes of an MF product."""
        return {"form": self.one(*FORMS), "sign_zero": self.int(0, 1), "grid": self.one(*GRIDS)}


def word(make: Maker) -> dict:
    signed = make.int(0, 1)
    return {"bits": make.int(2, 10), "signed": signed, "overflow": make.one("saturate", "saturate", "wrap")}


def requantize(make, x, pool):
    attributes = word(make) | {"rounding": make.one(*ROUNDINGS)}
    if attributes["overflow"] == "saturate":
        attributes["narrow"] = make.int(0, 1)
    middle = max(0, x.format.bits - attributes["bits"])
    if x.scale.axis is None and make.rng.random() < 0.8:
        return [x.name], attributes | {"shift": (middle + make.int(-2, 2),)}
    axis = x.scale.axis or make.int(1, len(x.shape) - 1)
    target = max(x.scale.along(x.shape[axis])) + middle - 1
    return [x.name], attributes | {"axis": axis, "shift": tuple(target - e for e in x.scale.along(x.shape[axis]))}


def soft_threshold(make, x, pool):
    axis = make.one(-1, make.int(1, len(x.shape) - 1)) if x.scale.axis is None else x.scale.axis
    count = 1 if axis < 0 else x.shape[axis]
    scale = Scale(x.scale.exponents, None if x.scale.axis is None else 0)
    t = make.constant((count,), max(1, x.format.bits - 2), scale, signed=False)
    return [x.name, t], {"axis": axis}


def pair(make, x, pool):
    if make.rng.random() < 0.4:
        axis = make.int(1, len(x.shape) - 1)
        shape = (x.shape[axis], *(1,) * (len(x.shape) - 1 - axis))
        return [x.name, make.constant(shape, make.int(2, 9), Scale.of(x.scale.exponent + make.int(-3, 3)))], {}
    others = [other for other in pool if other.shape == x.shape and other.format.bits <= WIDEST]
    return [x.name, make.one(*others).name], {}


def mf_mul(make, x, pool):
    attributes = make.mf()
    if make.rng.random() < 0.5:
        shape = make.one(x.shape[1:], (x.shape[-1],), (1,))
        exponent = x.scale.exponent if attributes["grid"] == "shared" else make.int(-8, 0)
        return [x.name, make.constant(shape, make.int(2, 8), Scale.of(exponent))], attributes
    return pair(make, x, pool)[0], attributes


def mul(make, x, pool):
    inputs, _ = pair(make, x, pool)
    return inputs, {"constant": make.one("learned", "fixed")}


def matmul(mf):
    def made(make, x, pool):
        others = [
            other
            for other in pool
            if len(x.shape) > 2 and other.shape[:-2] == x.shape[:-2] and other.shape[-2] == x.shape[-1]
        ]
        others = [other for other in others if other.format.bits <= 12 and x.format.bits <= 12]
        if others and make.rng.random() < 0.5:
            return [x.name, make.one(*others).name], make.mf() if mf else {}
        inputs, attributes = make.weights((x.shape[-1], make.int(1, 6)), 1, mf, x)
        return [x.name, *inputs], attributes

    return made


def window(make, x):
    return {
        "strides": (make.int(1, 2), make.int(1, 2)),
        "pads": tuple(make.int(0, 1) for _ in range(4)),
        "dilations": (make.int(1, 2), make.int(1, 2)),
    }


def conv2d(mf):
    def made(make, x, pool):
        groups = make.one(1, 1, 2, x.shape[1])
        outputs = groups * make.int(1, 3)
        shape = (outputs, x.shape[1] // groups, make.int(1, 3), make.int(1, 3))
        inputs, attributes = make.weights(shape, 0, mf, x)
        return [x.name, *inputs], attributes | window(make, x) | {"groups": groups}

    return made


def max_pool2d(make, x, pool):
    return [x.name], window(make, x) | {"kernel": (make.int(1, 3), make.int(1, 3))}


def sum_pool2d(make, x, pool):
    attributes = window(make, x)
    del attributes["dilations"]
    return [x.name], attributes | {"kernel": (make.one(1, 2, 4), make.one(1, 2)), "mean": make.int(0, 1)}


def table(make, x, pool):
    entries = make.int(1, 40)
    constant = make.constant((entries,), make.int(2, 8), Scale.of(make.int(-8, 0)))
    return [x.name, constant], {"first": make.int(x.range.low - 3, x.range.high)}


def clip(make, x, pool):
    lo = make.int(x.range.low - 2, x.range.high)
    return [x.name], {"lo": lo, "hi": make.int(lo, x.range.high + 2)}


def shift(make, x, pool):
    if make.rng.random() < 0.5:
        return [x.name], {"exponents": (make.int(-3, 3),)}
    axis = make.int(1, len(x.shape) - 1)
    return [x.name], {"exponents": tuple(make.int(-2, 2) for _ in range(x.shape[axis])), "axis": axis}


def gain(make, x, pool):
    return [x.name], {"numerators": (make.one(1, 3, 5),), "denominators": (make.one(1, 3, 7),)}


def rescale(make, x, pool):
    if x.scale.axis is not None:
        return None
    exponent = round(math.log2(x.scale.steps_along(1)[0])) + max(0, x.format.bits - 8) + make.int(-1, 1)
    factor = {"numerators": (make.one(1, 1, 3),), "denominators": (1,)}
    attributes = {"bits": make.int(4, 10), "narrow": make.int(0, 1), "rounding": make.one(*ROUNDINGS)}
    return [x.name], attributes | factor | {"exponents": (exponent,), "multiplier_bits": make.one(4, 12)}


def wht(make, x, pool):
    attributes = {
        "dims": make.int(1, 2),
        "order": make.one(*ORDERS),
        "norm": make.one(*NORMS),
        "inverse": make.int(0, 1),
    }
    return [x.name], attributes | {"block": make.one(0, 0, 2, 4)}


def concat(make, x, pool):
    axis = make.int(1, len(x.shape) - 1)
    others = [
        o
        for o in pool
        if len(o.shape) == len(x.shape) and all(o.shape[k] == n for k, n in enumerate(x.shape) if k != axis)
    ]
    return [x.name, *(make.one(*others).name for _ in range(make.int(0, 2)))], {"axis": axis}


def slice_(make, x, pool):
    axes = [axis for axis in range(1, len(x.shape)) if x.shape[axis] > 1]
    if not axes:
        return None
    axis = make.one(*axes)
    start = make.int(0, x.shape[axis] - 1)
    return [x.name], {
        "axes": (axis,),
        "starts": (start,),
        "ends": (make.int(start + 1, x.shape[axis]),),
        "steps": (make.int(1, 3),),
    }


def reshape(make, x, pool):
    sizes, rest = [], x.sample_size
    while rest > 1 and len(sizes) < 3:
        n = make.one(*(k for k in range(1, rest + 1) if rest % k == 0))
        sizes.append(n)
        rest //= n
    return [x.name], {"shape": (*sizes, rest)}


def transpose(make, x, pool):
    return [x.name], {"perm": (0, *(int(k) for k in 1 + make.rng.permutation(len(x.shape) - 1)))}


def pad(make, x, pool):
    pads = [make.int(0, 1) if k % len(x.shape) else 0 for k in range(2 * len(x.shape))]
    return [x.name], {"pads": tuple(pads), "value": make.int(-2, 2)}


def plain(**attributes):
    def made(make, x, pool):
        return [x.name], {name: make.int(0, 1) for name in attributes}

    return made


MAKERS = {
    "abs": plain(),
    "accumulator": lambda make, x, pool: ([x.name], word(make) | {"bits": max(2, x.format.bits - make.int(0, 4))}),
    "add": pair,
    "clip": clip,
    "concat": concat,
    "conv2d": conv2d(False),
    "flatten": plain(),
    "gain": gain,
    "matmul": matmul(False),
    "max_pool2d": max_pool2d,
    "mf_conv2d": conv2d(True),
    "mf_matmul": matmul(True),
    "mf_mul": mf_mul,
    "neg": plain(),
    "pad": pad,
    "relu": plain(),
    "requantize": requantize,
    "rescale": rescale,
    "reshape": reshape,
    "shift": shift,
    "sign": plain(sign_zero=0),
    "slice": slice_,
    "soft_threshold": soft_threshold,
    "sub": pair,
    "sum_pool2d": sum_pool2d,
    "table": table,
    "transpose": transpose,
    "wht": wht,
    "adder_conv2d": conv2d_of(aligned_weights, window),
    "adder_matmul": matmul_of(aligned_weights),
    "min_conv2d": conv2d_of(aligned_weights, window),
    "min_matmul": matmul_of(aligned_weights),
    "mul": mul,
    "shift_conv2d": conv2d_of(power_weights, window),
    "shift_matmul": matmul_of(power_weights),
    **FUNCTIONS,
}
"""How a node of each op is made: (maker, x, pool) -> inputs and attributes, or None."""


PLANES = ("adder_conv2d", "min_conv2d", "shift_conv2d", "conv2d", "mf_conv2d", "max_pool2d", "sum_pool2d", "wht")


def with_all_outputs(program: Program) -> Program:
    """Return the program with every activation as an output."""
    return replace(program, outputs=tuple(name for name, tensor in program.tensors.items() if not tensor.is_constant))
