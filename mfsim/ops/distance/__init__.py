"""Products on one grid: AdderNet distances and signed minima."""
