"""The tables and counts of four papers beside what is built and counted here: `report`."""

from __future__ import annotations

from examples.papers.claims import Claim
from examples.papers.report import PAPERS, TABLES, PapersReport, report

__all__ = ["PAPERS", "TABLES", "Claim", "PapersReport", "report"]
