"""Integers that mean different things get different types, so that a checker refuses to mix them."""

from typing import NewType

Bin = NewType("Bin", int)
"""A fixed share of the key space: the top bits of the key's hash."""

Slot = NewType("Slot", int)
"""One Spark state partition: the unit of parallelism."""

Epoch = NewType("Epoch", int)
"""The id of a micro-batch: the logical time of every migration."""

Generation = NewType("Generation", int)
"""Counts the drivers that have held a job's lease; the highest one is the live one."""
