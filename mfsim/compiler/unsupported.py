"""What to do about an op that has no rule."""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.rules import FOREIGN_RULES, RULES
from mfsim.errors import UnsupportedOpError, did_you_mean

TABLE = "use a layer of mfsim.nn that exports a table or an integer algorithm"
REAL = "the file computes in real numbers between quantizers; export it with mfsim.export"
HINTS = {
    "BatchNormalization": "fold it before the export (mfsim.quant.fold)",
    "QuantizeLinear": "the file is in the QCDQ style; export it with Quant nodes (QONNX)",
    "DequantizeLinear": "the file is in the QCDQ style; export it with Quant nodes (QONNX)",
    "Dropout": "export the model in eval mode",
    "LayerNormalization": TABLE,
    "Softmax": TABLE,
    "LogSoftmax": "leave it out: the largest logit is the same without it",
    "Round": REAL,
    "Floor": REAL,
    "Ceil": REAL,
    "Where": REAL,
    "ConvTranspose": "use a Conv on a padded input",
    "Einsum": "write it as MatMul",
} | dict.fromkeys(
    ("Sigmoid", "Tanh", "Gelu", "Erf", "Exp", "Log", "Sqrt", "Softplus", "HardSigmoid", "HardSwish", "Elu", "Selu"),
    TABLE,
)
CUT = "end the network in front of it; the largest of its inputs is the same"
NO_INTEGERS = "it has no exact integer form; end the network in front of it, or write it as an org.mfsim::Table"
FOREIGN_HINTS = {
    "DynamicQuantizeLinear": "scales that follow from data are not supported; quantize with fixed scales",
    "Softmax": CUT,
    "LogSoftmax": CUT,
    "Round": "write it as a Quant or QuantizeLinear",
    "Floor": "write it as a Quant with the rounding mode FLOOR",
    "Ceil": "write it as a Quant with the rounding mode CEIL",
    "ConvTranspose": HINTS["ConvTranspose"],
    "Einsum": HINTS["Einsum"],
} | dict.fromkeys([op for op, hint in HINTS.items() if hint == TABLE and op != "Softmax"], NO_INTEGERS)
"""The same for files of others."""
OTHERWISE = "leave it out of the model or write it with the ops that have a rule"


def unsupported(node: FileNode, strict: bool) -> UnsupportedOpError:
    """Return the error about a node without a rule: its name, op and domain, and what to do.

    `strict` is whether the file has to be in the dialect.
    """
    hints, rules = (HINTS, RULES) if strict else (FOREIGN_HINTS, RULES | FOREIGN_RULES)
    known = [op for domain, op in rules if domain == node.domain]
    domain = node.domain or "ai.onnx"
    hint = did_you_mean(node.op, known) if node.op not in hints else ""
    return UnsupportedOpError(
        f"node `{node.name}` has the op {node.op} of the domain {domain}, which has no rule{hint}; {hints.get(node.op, OTHERWISE)}"
    )
