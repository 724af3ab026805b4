"""MinMatMul: matrix product with sign(x w) min(|x|, |w|). Definition: mfsim/ops/min_matmul.py."""

from mfsim.export.functions.aligned import MIN, matrix_body

BODY = matrix_body("MinMatMul", MIN)
