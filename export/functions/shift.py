"""Shift: x * gain for gains that are powers of two; a change of scale. Definition: mfsim/ops/shift.py."""

BODY = """
<opset_import: ["" : 20], domain: "org.mfsim">
Shift (X, gain) => (Y) {
    Y = Mul (X, gain)
}
"""
