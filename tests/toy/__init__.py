"""A method added as documented: `method/` is its folder in trainables/, `space.py` its file in spaces/."""
