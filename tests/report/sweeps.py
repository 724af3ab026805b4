"""Sweeps of a network for the report."""

from __future__ import annotations

from mfsim.analysis.sweeps import SweepFigures, SweepReport, SweepRow


def figures(accuracy):
    return SweepFigures(360, round(360 * accuracy), accuracy, 0.5, 20.0, 0.1, 3, 24, 50000, 100000, 0, 1000.0)


def product():
    """Return a sweep of two axes; one point has failed and one has not run."""
    rows = (
        SweepRow(0, "", (None, None), figures(0.95)),
        SweepRow(1, "", (2, 4), figures(0.25)),
        SweepRow(2, "", (2, 6), figures(0.5)),
        SweepRow(3, "", (3, 4), figures(0.75)),
        SweepRow(4, "", (3, 6), figures(1.0)),
        SweepRow(5, "", (4, 6), None, "it failed"),
    )
    return SweepReport("both", ("weight", "activation@head"), False, 7, rows, {"model": "abc"})


def many():
    """Return a sweep with more choices on one axis than a picture has colours."""
    rows = [
        SweepRow(1 + 7 * w + a, "", (2 + w, 2 + a), figures((w + 1) * (a + 1) / 14)) for w in range(2) for a in range(7)
    ]
    own = SweepRow(0, "", (None, None), figures(0.95))
    return SweepReport("many", ("weight", "activation"), False, 15, (own, *rows), {})


def sensitivity():
    """Return a sweep of one layer at a time, one of which gains."""
    rows = (
        SweepRow(0, "", (None,), figures(0.75)),
        SweepRow(1, "conv1", (4,), figures(0.5)),
        SweepRow(2, "conv<2>", (4,), figures(0.625)),
        SweepRow(3, "head", (4,), figures(0.875)),
    )
    return SweepReport("one", ("weight",), True, 4, rows, {})
