"""Measuring rooms: Whimbrel and its peers in one run, on the same input, with the answer checked."""
