"""SoftThreshold: sign(x) max(|x| - t, 0), t >= 0. Definition: mfsim/ops/soft_threshold.py."""

BODY = """
<opset_import: ["" : 20], domain: "org.mfsim">
SoftThreshold (X, T) => (Y) {
    sign = Sign (X)
    magnitude = Abs (X)
    less = Sub (magnitude, T)
    kept = Relu (less)
    Y = Mul (sign, kept)
}
"""
