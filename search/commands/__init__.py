"""The command line, one module per command: its docstring is the help, it adds its arguments, calls and prints."""
