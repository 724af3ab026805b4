"""Mutation run: change one place of a source file, run the tests concerned, list what no test notices."""
