"""Spark schemas as Arrow schemas and back: the host works in Arrow, the user writes Spark DDL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from whimbrel.model.errors import BadInput


def arrow_of(schema: StructType) -> pa.Schema:
    """The Arrow schema of a Spark schema; timestamps with a zone rest in UTC."""
    return pa.schema([field.remove_metadata() for field in to_arrow_schema(schema, timezone="UTC")])


def ddl_of(schema: pa.Schema) -> str:
    """The Spark DDL of an Arrow schema."""
    return ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in from_arrow_schema(schema).fields)


def parse_ddl(text: str, what: str) -> StructType:
    """The Spark schema that the user wrote; BadInput names the argument and the fault."""
    try:
        parsed: Any = StructType.fromDDL(text)
    except Exception as error:
        first = str(error).strip().splitlines()[0]
        raise BadInput(f"{what} {text!r} is no Spark schema ({first}); write it like 'word string, n long'") from None
    return parsed  # type: ignore[no-any-return]
