"""The tables and counts of four papers beside what is built and counted here: `report`."""

from __future__ import annotations

from mfsim.papers.claim import Claim
from mfsim.papers.report import PAPERS, TITLES, PapersReport, report

__all__ = ["PAPERS", "TITLES", "Claim", "PapersReport", "report"]
