"""What every bench does with its options: which systems are wanted, and a word on standard error for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from whimbrel.model.errors import BadInput


def wanted(
    options: Mapping[str, Any],
    known: Sequence[str],
    name: str = "peers",
    what: str = "system",
    groups: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[str]:
    """The names given under ``name``, or all that there are; a name of ``groups`` stands for several of them.

    Raises BadInput for one that there is not.

    >>> wanted({}, ["whimbrel", "identity"])
    ['whimbrel', 'identity']
    >>> wanted({"peers": ["whimbrel"]}, ["fluid", "batched", "offline"], groups={"whimbrel": ("fluid", "batched")})
    ['fluid', 'batched']
    """
    chosen = [each for given in options.get(name) or known for each in groups.get(given, (given,))]
    for each in chosen:
        if each not in known:
            choice = ", ".join(dict.fromkeys((*groups, *known)))
            raise BadInput(f"there is no {what} {each!r} to measure: choose among {choice}")
    return list(dict.fromkeys(chosen))


def announced(options: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    """The names in turn; ``note`` of the options hears which one comes next.

    >>> heard = []
    >>> list(announced({"note": heard.append}, ["a", "b"])), heard
    (['a', 'b'], ['1 of 2: a …', '2 of 2: b …'])
    """
    note = options.get("note") or (lambda message: None)
    for index, each in enumerate(names, 1):
        note(f"{index} of {len(names)}: {each} …")
        yield each
