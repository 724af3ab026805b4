"""Compiler rules of the products with power-of-two weights."""

from __future__ import annotations

from mfsim.compiler.lower.product_rules import conv_rule, matmul_rule

RULES = {
    ("org.mfsim", "ShiftConv"): conv_rule("shift_conv2d"),
    ("org.mfsim", "ShiftMatMul"): matmul_rule("shift_matmul"),
}
