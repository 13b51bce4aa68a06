"""The queries with Whimbrel's operators: one file each, every one of them migratable while it runs.

A step function sees one slot's rows as Arrow batches; whatever it keeps lies in tables and post-dated records
that belong to bins. ``COLUMNS`` of the result are those of the reference answers.
"""

from whimbrel.nexmark.queries.catalogue import MIGRATABLE, TIMED, migratable_query

__all__ = ["MIGRATABLE", "TIMED", "migratable_query"]
