"""The generator of the embedded world: three made-up languages, their data and their encoders (docs/world.md)."""
