"""AdderMatMul: matrix product with -|x - w|. Definition: mfsim/ops/adder_matmul.py."""

from mfsim.export.functions.aligned import ADDER, matrix_body

BODY = matrix_body("AdderMatMul", ADDER)
