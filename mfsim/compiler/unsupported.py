"""What to do about an op that has no rule."""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.rules import RULES
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
OTHERWISE = "leave it out of the model or write it with the ops that have a rule"


def unsupported(node: FileNode) -> UnsupportedOpError:
    """Return the error about a node without a rule: its name, op and domain, and what to do."""
    known = [op for domain, op in RULES if domain == node.domain]
    domain = node.domain or "ai.onnx"
    hint = did_you_mean(node.op, known) if node.op not in HINTS else ""
    return UnsupportedOpError(
        f"node `{node.name}` has the op {node.op} of the domain {domain}, which has no rule{hint}; {HINTS.get(node.op, OTHERWISE)}"
    )
