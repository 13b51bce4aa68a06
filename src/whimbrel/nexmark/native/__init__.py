"""The queries as a PySpark user would write them without Whimbrel: the peers to compare with.

Each is the best form that stock Structured Streaming allows in one query; where an exact answer costs
something that a user would not expect, the module says so. Append mode throughout: every result once, final.
"""

from whimbrel.nexmark.native.queries import NATIVE, native_query

__all__ = ["NATIVE", "native_query"]
