"""A network from data to a report: a run folder and its steps."""
