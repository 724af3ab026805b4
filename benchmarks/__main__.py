"""Run every benchmark and print one line for each case."""

from __future__ import annotations

from benchmarks import kernels, simulator
from benchmarks.timing import seconds


def rate(value: float) -> str:
    """Return a rate with the unit that suits it."""
    return f"{value / 1e6:10.1f} M" if value >= 1e6 else f"{value:10.0f}  "


def main() -> None:
    """Print the table."""
    for module in (kernels, simulator):
        print(module.__doc__.splitlines()[0])
        for case in module.cases():
            time = seconds(case.run)
            print(f"  {case.name:32} {1e3 * time:9.3f} ms {rate(case.work / time)} {case.unit}/s")


if __name__ == "__main__":
    main()
