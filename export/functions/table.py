"""Table: y = table[clamp(x - first, 0, size - 1)] on codes. Definition: mfsim/ops/table.py.

`table` (codes on y_scale) and `first` are int64; X lies on x_scale.
"""

BODY = """
<opset_import: ["" : 20], domain: "org.mfsim">
Table (X, x_scale, table, first, y_scale) => (Y) {
    scaled = Div (X, x_scale)
    nearest = Round (scaled)
    codes = Cast <to = 7> (nearest)
    place = Sub (codes, first)
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    entries = Size (table)
    last = Sub (entries, one)
    least = Max (place, zero)
    index = Min (least, last)
    found = Gather (table, index)
    value = CastLike (found, X)
    Y = Mul (value, y_scale)
}
"""
