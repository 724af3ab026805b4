"""Compiler rules of the AdderNet and min-type products."""

from __future__ import annotations

from mfsim.compiler.lower.product_rules import conv_rule, matmul_rule

RULES = {
    ("org.mfsim", "AdderConv"): conv_rule("adder_conv2d"),
    ("org.mfsim", "AdderMatMul"): matmul_rule("adder_matmul"),
    ("org.mfsim", "MinConv"): conv_rule("min_conv2d"),
    ("org.mfsim", "MinMatMul"): matmul_rule("min_matmul"),
}
