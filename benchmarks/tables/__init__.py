"""Tables of real training runs, each beside the program that made it."""
