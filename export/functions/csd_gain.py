"""CsdGain: X times constants of few signed digits. Definition: mfsim/ops/csd_gain.py."""

BODY = """
<opset_import: ["" : 20], domain: "org.mfsim">
CsdGain <digits> (X, C) => (Y) {
    Y = Mul (X, C)
}
"""
