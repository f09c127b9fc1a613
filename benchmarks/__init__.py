"""Side-by-side measurements, each printing a ratio."""
