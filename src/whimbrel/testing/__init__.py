"""Doubles, oracles and faults for tests of what is built on Whimbrel. No Spark here.

The doubles keep the promises of the real parts and can be told to break where real parts break; the product's own tests
use them too.
"""

from whimbrel.control.stores import MemoryStore
from whimbrel.testing.damage import DAMAGES, spoil
from whimbrel.testing.fault_points import fault_environment
from whimbrel.testing.flaky_store import FlakyStore, StoreUnreachable
from whimbrel.testing.memory_backend import MemoryBackend
from whimbrel.testing.same_rows import assert_same_rows, differing_rows
from whimbrel.testing.seal_chain import SealChain

__all__ = [
    "DAMAGES",
    "FlakyStore",
    "MemoryBackend",
    "MemoryStore",
    "SealChain",
    "StoreUnreachable",
    "assert_same_rows",
    "differing_rows",
    "fault_environment",
    "spoil",
]
