"""Scripts that show one thing each, and packages run with `python -m examples.NAME`."""
