"""One run: the methods as pure torch, their Ray trainables, and what they read."""
