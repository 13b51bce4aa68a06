"""The operators: each a value that says how rows change a slot's tables. One kind, one file."""
