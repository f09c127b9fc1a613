"""One run: the methods as pure torch, and what they read."""

if __name__ == "trainables":
    raise ImportError("'trainables' is now 'seedwise.trainables': Method is in seedwise.trainables.method")
