"""A projection at rest: one Parquet file of costs, and beside it what it was computed for.

    costs.parquet      slots, boundaries (interior cuts, ascending), cost; stamped with the digest in its metadata
    _instance.json     the instance, its digest, how the projection was made, and whether look-ahead pays
    _additive.arrow    the additive form: slots, feature, coefficient

Names that begin with an underscore are skipped by readers of Parquet folders. Invariant: the digest in the metadata
is the digest of the instance beside it; a folder where they differ is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from whimbrel.model import BadInput, Damaged, Load
from whimbrel.planning.projection_additive import AdditiveCosts
from whimbrel.planning.projection_features import Features
from whimbrel.planning.projection_instance import ProjectionInstance, load_digest
from whimbrel.planning.projection_problem import Problem
from whimbrel.planning.projection_space import FloatArray

COSTS = "costs.parquet"
INSTANCE = "_instance.json"
ADDITIVE = "_additive.arrow"
DIGEST_KEY = b"whimbrel.digest"
FORMAT_KEY = b"whimbrel.format"
FORMAT = 1
STAMPED = ("digest", "method", "enabled", "made", "instance")


@dataclass(frozen=True)
class Stamp:
    """What a folder says about itself. ``enabled`` is False where a back-test found that look-ahead does not pay."""

    instance: ProjectionInstance
    method: str
    made: Mapping[str, Any] = field(default_factory=dict)
    enabled: bool = True


def cost_table(problem: Problem, costs: FloatArray) -> pa.Table:
    """One row per (slots, boundaries), by slots and then lexicographically."""
    starts = [space.offset[:-1] + first for space, first in zip(problem.spaces, _cut_bases(problem), strict=True)]
    total = sum(len(space.cuts) for space in problem.spaces)
    offsets = np.concatenate([*starts, [total]]).astype(np.int32)
    cuts = np.concatenate([space.cuts for space in problem.spaces])
    slots = np.repeat([space.slots for space in problem.spaces], [space.size for space in problem.spaces])
    boundaries = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(cuts, pa.int32()))
    columns = {"slots": pa.array(slots, pa.int32()), "boundaries": boundaries, "cost": pa.array(costs, pa.float64())}
    stamp = {DIGEST_KEY: problem.instance.digest.encode(), FORMAT_KEY: str(FORMAT).encode()}
    return pa.table(columns).replace_schema_metadata(stamp)


def _cut_bases(problem: Problem) -> list[int]:
    sizes = [len(space.cuts) for space in problem.spaces]
    return [int(first) for first in np.concatenate([[0], np.cumsum(sizes)[:-1]])]


def write_costs(folder: Path, problem: Problem, costs: FloatArray) -> None:
    """Writes the table of costs; the folder is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f"_{COSTS}.new"
    pq.write_table(cost_table(problem, costs), aside, write_page_checksum=True)
    aside.replace(folder / COSTS)


def read_costs(folder: Path, problem: Problem) -> FloatArray:
    """The costs of every state of ``problem``, in its order.

    Raises BadInput where the table was made for another instance, Damaged where its rows are not the partitions or
    its bytes are not those that were written.
    """
    try:
        table = pq.read_table(folder / COSTS, page_checksum_verification=True)
    except FileNotFoundError:
        raise BadInput(f"{folder} holds no {COSTS}: project again") from None
    except (pa.ArrowException, OSError):
        raise Damaged(f"{folder / COSTS} is no longer the Parquet file that was written: project again") from None
    stamped = (table.schema.metadata or {}).get(DIGEST_KEY, b"").decode()
    if stamped != problem.instance.digest:
        raise BadInput(f"{folder / COSTS} belongs to another instance than {INSTANCE} beside it: project again")
    expected = cost_table(problem, np.zeros(problem.size))
    places = ["slots", "boundaries"]
    if table.schema.names != expected.schema.names or not table.select(places).equals(expected.select(places)):
        raise Damaged(f"{folder / COSTS} does not list the partitions of its instance: project again")
    costs = np.asarray(table["cost"].combine_chunks(), np.float64)
    if not (costs >= 0).all() or not np.isfinite(costs).all():
        raise Damaged(f"{folder / COSTS} holds costs that are no amounts of state: project again")
    return costs


def write_stamp(folder: Path, stamp: Stamp) -> None:
    """Writes what the projection is for; last, so that a folder with a stamp is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    value = {
        "digest": stamp.instance.digest,
        "method": stamp.method,
        "enabled": stamp.enabled,
        "made": dict(stamp.made),
        "instance": stamp.instance.to_json(),
    }
    aside = folder / f"{INSTANCE}.new"
    aside.write_text(json.dumps(value) + "\n", encoding="utf-8")
    aside.replace(folder / INSTANCE)


def read_stamp(folder: Path) -> Stamp:
    """What a folder's projection is for. Raises BadInput where there is none, Damaged where it contradicts itself."""
    path = folder / INSTANCE
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{folder} holds no projection: make one with `whimbrel mtm project --out {folder}`") from None
    except ValueError:
        raise Damaged(f"{path} is not JSON: project again") from None
    missing = [name for name in STAMPED if not isinstance(value, dict) or name not in value]
    if missing:
        raise Damaged(f"{path} lacks {', '.join(missing)}: project again")
    instance = ProjectionInstance.from_json(value["instance"], str(path))
    if value["digest"] != instance.digest:
        raise Damaged(f"{path} was changed after it was written: its digest is not that of its instance; project again")
    return Stamp(instance, value["method"], value["made"], bool(value["enabled"]))


def refuse_stale(folder: Path, stamp: Stamp, load: Load, tau: float | str) -> None:
    """Raises BadInput unless the projection was made for this load and this tau."""
    if load_digest(stamp.instance.load) != load_digest(load):
        raise BadInput(
            f"{folder} is stale: it was projected for other work or state; "
            "project again, or allow drift to plan with its additive form"
        )
    if float(stamp.instance.tau) != float(tau):
        raise BadInput(f"{folder} was projected for tau {stamp.instance.tau}, not {tau}: project again")


def write_additive(folder: Path, costs: AdditiveCosts, digest: str) -> None:
    """Writes the additive form: one row per slot count and feature that carries a coefficient."""
    folder.mkdir(parents=True, exist_ok=True)
    place, feature = np.nonzero(costs.coefficients)
    columns = {
        "slots": pa.array(np.asarray(costs.states)[place], pa.int32()),
        "feature": pa.array(feature, pa.int32()),
        "coefficient": pa.array(costs.coefficients[place, feature], pa.float64()),
    }
    facts = {
        DIGEST_KEY: digest.encode(),
        b"whimbrel.bins": str(costs.features.bins).encode(),
        b"whimbrel.states": json.dumps(list(costs.states)).encode(),
        b"whimbrel.total_state": repr(costs.total_state).encode(),
    }
    aside = folder / f"{ADDITIVE}.new"
    feather.write_feather(pa.table(columns).replace_schema_metadata(facts), str(aside), compression="zstd")
    aside.replace(folder / ADDITIVE)


def read_additive(folder: Path, digest: str) -> AdditiveCosts:
    """The additive form of a projection. Raises BadInput where it belongs to another instance than ``digest``."""
    path = folder / ADDITIVE
    try:
        table = feather.read_table(str(path), memory_map=False)
    except FileNotFoundError:
        raise BadInput(f"{folder} holds no additive form ({ADDITIVE}): project again") from None
    except (pa.ArrowException, OSError):
        raise Damaged(f"{path} is no longer the Arrow file that was written: project again") from None
    facts = table.schema.metadata or {}
    if facts.get(DIGEST_KEY, b"").decode() != digest:
        raise BadInput(f"{path} belongs to another instance than {INSTANCE} beside it: project again")
    features = Features(int(facts[b"whimbrel.bins"]))
    states = tuple(json.loads(facts[b"whimbrel.states"]))
    coefficients = np.zeros((len(states), features.count))
    place = np.searchsorted(states, table["slots"].to_numpy())
    coefficients[place, table["feature"].to_numpy()] = table["coefficient"].to_numpy()
    return AdditiveCosts(features, states, coefficients, float(facts[b"whimbrel.total_state"]))
