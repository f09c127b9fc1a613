"""The command line, one module per command: its docstring is the help, `add_arguments` and `run` do the rest."""
