"""One made-up op, to test that an op is complete with the files that CONTRIBUTING.md names."""
