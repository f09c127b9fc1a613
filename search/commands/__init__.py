"""The command line, one module per command: each parses, calls and prints."""
