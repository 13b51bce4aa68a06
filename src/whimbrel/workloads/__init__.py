"""Streams to try things on, each with the right answer beside it."""
