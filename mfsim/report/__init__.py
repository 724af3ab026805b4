"""The report of trained, quantized and simulated networks: HTML, Markdown, JSON, CSV."""

from __future__ import annotations

from mfsim.parity.compare import ParityPair
from mfsim.report.result import NetworkResult
from mfsim.report.write import write_report

__all__ = ["NetworkResult", "ParityPair", "write_report"]
