"""The specification: its schema, its checks, where its files come from, the table of methods."""
