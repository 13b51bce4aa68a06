"""Kernels: loops over arrays, compiled for one signature at their first call and kept on disk.

One signature each keeps the compile time of the room bounded: an array that is read-only in one call and writable in
the next does not compile the loop a second time. Inputs are declared read-only, which accepts both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types


def _array(dtype: Any, ndim: int, readonly: bool) -> Any:
    return types.Array(dtype, ndim, "C", readonly=readonly)


U64_IN = _array(types.uint64, 1, True)
U64 = _array(types.uint64, 1, False)
I64_IN = _array(types.int64, 1, True)
I64 = _array(types.int64, 1, False)
F64_IN = _array(types.float64, 1, True)
F64 = _array(types.float64, 1, False)
U8_IN = _array(types.uint8, 1, True)
U8 = _array(types.uint8, 1, False)
I64_2D_IN = _array(types.int64, 2, True)
I64_2D = _array(types.int64, 2, False)
INT = types.int64
WORD = types.uint64


class Kernel:
    """A loop that compiles itself at its first call; later processes load it from the cache beside its source."""

    def __init__(self, function: Callable[..., Any], result: Any, arguments: tuple[Any, ...]) -> None:
        self._function = function
        self._signature = result(*arguments)
        self._compiled: Callable[..., Any] | None = None
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        if self._compiled is None:
            self._compiled = njit(self._signature, cache=True, nogil=True)(self._function)
        return self._compiled(*arguments)


def kernel(result: Any, *arguments: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Declares a loop over arrays with the types of its result and arguments."""
    return lambda function: Kernel(function, result, arguments)
