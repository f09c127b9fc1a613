"""The specification: its schema, reader and checks, the parts that are created from it, and provenance."""
