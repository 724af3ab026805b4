"""From nodes of a file to nodes of an integer program."""
