"""Whether the user asked for tracebacks. A module of its own, so that commands can ask without importing the app."""

enabled = False
