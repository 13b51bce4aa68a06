"""``whimbrel bench wordcount``: the key benchmark with string keys and a Zipf-skewed stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whimbrel.bench import keycount


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """As ``keycount``, with words: strings, few of them frequent."""
    return keycount.run({"kind": "string", "skew": "zipf", **options}) | {"bench": "wordcount"}
