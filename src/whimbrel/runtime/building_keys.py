"""Keys of two inputs on one type: rows meet in a bin by the hash of their key, and equal numbers of two types differ there.

A promise that Spark users know: an int key meets a double one, a decimal(10,2) a decimal(12,3), a date a timestamp.
What Spark would only compare by parsing text is refused, for there it is an accident more often than a wish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.model.errors import BadInput
from whimbrel.runtime.building import Keys, key_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def with_common_keys(left: DataFrame, right: DataFrame, keys: tuple[Keys, Keys]) -> tuple[DataFrame, DataFrame]:
    """Both streams with each pair of key columns cast to the type in which Spark would compare them.

    Raises BadInput where there is none, and names both columns and their types.
    """
    left_keys, right_keys = key_columns(left, keys[0]), key_columns(right, keys[1])
    if len(left_keys) != len(right_keys):
        raise BadInput("both inputs need the same number of key columns, in the same order")
    for one, other in zip(left_keys, right_keys, strict=True):
        was, now = left.schema[one].dataType, right.schema[other].dataType
        if was.simpleString() != now.simpleString():
            common = _common_type(left, (one, was), (other, now))
            left, right = _cast(left, one, common), _cast(right, other, common)
    return left, right


def _common_type(stream: DataFrame, left: tuple[str, DataType], right: tuple[str, DataType]) -> DataType:
    from pyspark.sql import functions as fn

    (one, was), (other, now) = left, right
    if _family(was) is None or _family(was) != _family(now):
        raise BadInput(
            f"key column {one!r} is {was.simpleString()} and {other!r} is {now.simpleString()}: they never match; "
            "cast one of them"
        )
    # Spark's own rule, asked by a query that is only analysed.
    both = fn.coalesce(fn.lit(None).cast(was), fn.lit(None).cast(now)).alias("common")
    common = stream.sparkSession.range(1).select(both).schema["common"].dataType
    for name, kind in (left, right):
        if not _holds(common, kind):
            raise BadInput(
                f"key column {one!r} is {was.simpleString()} and {other!r} is {now.simpleString()}: no decimal holds the "
                f"values of both, {common.simpleString()} would round those of {name!r}; cast one of them"
            )
    return common


def _family(kind: DataType) -> str | None:
    from pyspark.sql.types import DateType, NumericType, TimestampNTZType, TimestampType

    if isinstance(kind, NumericType):
        return "numbers"
    return "times" if isinstance(kind, DateType | TimestampType | TimestampNTZType) else None


def _holds(common: DataType, kind: DataType) -> bool:
    from pyspark.sql.types import DecimalType

    if not (isinstance(common, DecimalType) and isinstance(kind, DecimalType)):
        return True
    whole = kind.precision - kind.scale
    return common.scale >= kind.scale and common.precision - common.scale >= whole


def _cast(stream: DataFrame, column: str, kind: DataType) -> DataFrame:
    from pyspark.sql import functions as fn

    return stream.withColumn(column, fn.col(f"`{column}`").cast(kind))
