"""The specification: its schema, reading it, its checks, the parts made of it, provenance."""
