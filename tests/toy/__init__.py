"""A method that is added the documented way: `method/` is its folder in trainables/, `space.py` its file in spaces/."""
