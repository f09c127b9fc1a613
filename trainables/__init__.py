"""The methods in pure torch, and readers of their inputs: everything that a single run needs."""

if __name__ == "trainables":
    raise ImportError("'trainables' is now 'seedwise.trainables': Method is in seedwise.trainables.method")
