"""Integer functions in torch: the algorithms of `mfsim.ops` in int64, on values = codes * scale.

Each takes values on a stated scale and returns `y_scale` times the codes of the op, without a gradient: the
layer around it adds that of the float function. While torch exports, each leaves one node.
"""

from __future__ import annotations
