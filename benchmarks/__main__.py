"""Run every benchmark and print one line for each case."""

from __future__ import annotations

from benchmarks import kernels
from benchmarks.timing import seconds


def main() -> None:
    """Print the table."""
    for module in (kernels,):
        print(module.__doc__.splitlines()[0])
        for case in module.cases():
            time = seconds(case.run)
            print(f"  {case.name:32} {1e3 * time:9.3f} ms {case.work / time / 1e6:10.1f} M {case.unit}/s")


if __name__ == "__main__":
    main()
