"""The command line: composition only. Every command lives in a module of its own."""
