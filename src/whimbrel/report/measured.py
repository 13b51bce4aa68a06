"""The page of measurements: tables and verdicts in Markdown, from the answers that benches and experiments printed.

Nothing on the page is written by hand: a figure that changes in an answer changes on the page, a goal that is missed is
said to be missed, and what has not been measured has no section.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from whimbrel.report.bars import draw_bars
from whimbrel.report.bench_page import latency_rows
from whimbrel.report.latency import draw_latency
from whimbrel.report.page import readable_bytes

Answer = Mapping[str, Any]
Records = Sequence[Mapping[str, Any]]
STATEFUL = ("q3", "q4", "q5", "q6", "q7", "q8")
TIMES_NATIVE, TIMES_STEADY = 3.0, 1.5
"""The goals: how many times native throughput, and how many times the steady state a batched migration may reach."""
POINT = ("at_ms", "p50", "p99", "max")
EXPERIMENTS = {
    "megaphone-overhead": "What bins cost while nothing moves (Figures 13 to 15)",
    "megaphone-bins": "More bins (Figure 16)",
    "megaphone-keys": "More state (Figure 17)",
    "megaphone-keys-per-bin": "More state in more bins (Figure 18)",
    "megaphone-load": "More load (Figure 19)",
    "megaphone-memory": "Memory (Figure 20)",
}
"""The experiments on the page, in its order, each with its heading."""
_OPENING = """# NEXMark and Megaphone, measured

Written by `scripts/write_measurements.py` from the answers in `docs/measurements`, which `scripts/measure_nexmark.py`
takes on a quiet machine. All rows of a table come from one run, but in the table of latencies, where those of one query do:
compare what was measured in the same run. Every answer was compared with a reference's; `identity` computes none.
"""


def page_of_measurements(answers: Mapping[str, Answer]) -> str:
    """The page, from answers by name: ``check``, ``nexmark-all``, ``timelines`` and the ids of experiments.

    Empty without any.
    """
    sections = [_checked(answers["check"])] if "check" in answers else []
    sections += [_throughput(answers["nexmark-all"])] if "nexmark-all" in answers else []
    sections += [_timelines(answers["timelines"])] if "timelines" in answers else []
    sections += [_experiment(answers[name], title) for name, title in EXPERIMENTS.items() if name in answers]
    return "\n".join([_OPENING, *sections]) if sections else ""


def pictures_of_measurements(answers: Mapping[str, Answer]) -> dict[str, str]:
    """SVG text by name, for what is drawn from the answers; experiments bring their own pictures."""
    drawn = {}
    if "nexmark-all" in answers:
        rates = [(query, _rates(records)) for query, records in _by_query(answers["nexmark-all"]).items()]
        drawn["nexmark-throughput"] = draw_bars("Throughput of NEXMark queries", rates, "rows per second")
    if "timelines" in answers:
        rows = latency_rows([_expanded(record) for record in answers["timelines"]["results"]])
        drawn["nexmark-timelines"] = draw_latency("Latency from due time to sink", rows)
    return drawn


def compacted(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose timeline has rows of whole milliseconds in the order of POINT: small enough to be kept.

    >>> compacted({"timeline": [{"at_ms": 250.0, "p50": 1.2, "p99": 2.9, "max": 3.0}]})
    {'timeline': [[250, 1, 3, 3]]}
    """
    return {**record, "timeline": [[round(point[name]) for name in POINT] for point in record.get("timeline", ())]}


def _expanded(record: Mapping[str, Any]) -> dict[str, Any]:
    return {**record, "timeline": [dict(zip(POINT, point, strict=True)) for point in record["timeline"]]}


def _checked(answer: Answer) -> str:
    rows: list[list[str]] = []
    for record in answer["queries"]:
        verdicts = ["equal" if record[name] else "different" for name in ("duckdb", "spark_sql")]
        rows.append(
            [record["query"], *(_number(record[name], 0) for name in ("rows_out", "epochs", "moves")), *verdicts]
        )
    equal, different = ([r["query"] for r in answer["queries"] if r["equal"] is wanted] for wanted in (True, False))
    return "\n".join(
        [
            "## Answers while the state moves\n",
            f"`whimbrel nexmark check --events {answer['events']}`: every query goes from 2 slots to 4, has its bins dealt "
            f"out at random, and ends on 3; its result is compared with DuckDB's and with batch Spark SQL's, as multisets. "
            f"{_machine(answer)}\n",
            markdown_table(["query", "rows", "epochs", "moves", "DuckDB", "Spark SQL"], rows),
            _goal("Equal to both references", equal, different),
        ]
    )


def _throughput(answer: Answer) -> str:
    rows: list[list[str]] = []
    reached: list[str] = []
    missed: list[str] = []
    for query, records in _by_query(answer).items():
        rates = _rates(records)
        ours = next((record for record in records if record["system"] == "whimbrel"), None)
        if ours is None:
            continue
        native = max((rate for system, rate in rates.items() if system.startswith("native")), default=0)
        times = ours.get("times_native")
        if query in STATEFUL and times is not None:
            (reached if times >= TIMES_NATIVE else missed).append(query)
        moving = [f"{ours['epoch_ms'][phase]['max'] / 1000:.2f}" for phase in ("before", "during")]
        shares = [_number(times), f"{100 * ours.get('of_identity', 0):.0f} %"]
        rows.append([query, f"{rates['whimbrel']:,.0f}", f"{native:,.0f}", *shares, *moving, _right(records)])
    ceiling = max((r["rows_per_second"] for r in answer["results"] if r["system"] == "identity"), default=0)
    settings = answer.get("settings", {})
    heads = ["query", "Whimbrel, rows/s", "best native, rows/s", "times native", "of identity"]
    heads += ["longest epoch, s", "while state moves, s", "answers right"]
    return "\n".join(
        [
            "## Throughput\n",
            f"`whimbrel bench nexmark-all`: {settings.get('events', 0):,} events in {settings.get('epochs', 0)} epochs, "
            f"{settings.get('slots', 0)} slots, {settings.get('bins', 0)} bins; the identity `mapInArrow` over the bids "
            f"carries {ceiling:,.0f} rows/s. {_machine(answer)}\n",
            "![Throughput of every query](../pictures/nexmark-throughput.svg)\n",
            markdown_table(heads, rows),
            _goal(f"The goal of {TIMES_NATIVE:g} times native for the stateful queries", reached, missed),
        ]
    )


def _timelines(answer: Answer) -> str:
    rows = [
        [
            record["query"],
            record["pacing"],
            _bytes(record.get("state_bytes")),
            _bytes(record.get("bytes")),
            _number(record.get("steps"), 0),
            f"{record['migration_s']:.1f}",
            *(f"{record['latency_ms'][phase]['max'] / 1000:.2f}" for phase in ("before", "during")),
            _number(record["times_steady"], 2),
            _right([record]),
        ]
        for record in answer["results"]
    ]
    heads = ["query", "pacing", "state", "moved", "steps", "migration, s", "highest before, s", "highest during, s"]
    batched = _judged(answer["results"], "batched", lambda times: times <= TIMES_STEADY)
    at_once = _judged(answer["results"], "all-at-once", lambda times: times > TIMES_STEADY)
    settings = answer.get("settings", {})
    return "\n".join(
        [
            "## Latency while the state moves\n",
            f"`whimbrel bench timelines-qN`: open loop at {settings.get('rate', 0):,} events/s, latency of every event from "
            f"the time it was due to the commit of its epoch; a quarter of {settings.get('bins', 0)} bins moves between "
            f"{settings.get('slots', 0)} slots. {_machine(answer)}\n",
            "![Latency over time, a row per query and a panel per way to move](../pictures/nexmark-timelines.svg)\n",
            markdown_table([*heads, "times steady", "answers right"], rows),
            _goal(f"A batched migration within {TIMES_STEADY:g} times the steady state", *batched),
            _goal(f"All at once beyond {TIMES_STEADY:g} times", *at_once),
        ]
    )


def _judged(records: Records, pacing: str, fine: Callable[[float], bool]) -> tuple[list[str], list[str]]:
    judged = [record for record in records if record["pacing"] == pacing and record["times_steady"] is not None]
    found = [(record["query"], fine(record["times_steady"])) for record in judged]
    return [query for query, good in found if good], [query for query, good in found if not good]


def _experiment(answer: Answer, title: str) -> str:
    records = [dict(record) for record in answer["rows"]]
    wanted = ["system", "pacing", "keys", "bins", "rate", "state_bytes", "bytes", "steps", "migration_s"]
    wanted += ["before_max_ms", "during_max_ms", "times_steady", "p50", "p99", "max", "memory_most_bytes"]
    names = [name for name in wanted if any(record.get(name) is not None for record in records)]
    heads = [name.replace("_", " ") for name in names]
    rows = [[_cell(name, record.get(name)) for name in names] for record in records]
    verdict = "The claim holds here." if answer["holds"] else "The claim does not hold here."
    checked = "All counts are right." if answer.get("correct") else "Some count is wrong."
    return "\n".join(
        [
            f"## {title}\n",
            f"`whimbrel experiment run {answer['id']}`. Claim: {answer['claim']}. **{verdict}** {checked} "
            f"{_machine(answer)}\n",
            f"![{title}](../pictures/{answer['id']}.svg)\n",
            markdown_table(heads, rows),
        ]
    )


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain texts.

    >>> print(markdown_table(["a", "b"], [["1", "2"]]), end="")
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def _goal(what: str, reached: Sequence[str], missed: Sequence[str]) -> str:
    parts = (
        [f"{'reached by' if reached else 'reached by none'} {', '.join(reached)}".strip()] if reached or missed else []
    )
    parts += [f"not by {', '.join(missed)}"] if missed else []
    return f"{what}: {'; '.join(parts) or 'not measured'}.\n"


def _by_query(answer: Answer) -> dict[str, list[Mapping[str, Any]]]:
    """The records of each query; the ceiling is no query's."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for record in answer["results"]:
        if record["system"] != "identity":
            found.setdefault(str(record["query"]), []).append(record)
    return found


def _rates(records: Records) -> dict[str, float]:
    return {str(record["system"]): float(record["rows_per_second"]) for record in records}


def _right(records: Records) -> str:
    checked = [record["correct"] for record in records if record.get("correct") is not None]
    return "–" if not checked else "yes" if all(checked) else "no"


def _machine(answer: Answer) -> str:
    facts = answer.get("machine", {})
    return f"{facts.get('cores')} cores ({facts.get('processor')}), PySpark {facts.get('pyspark')}." if facts else ""


def _number(value: Any, digits: int = 1) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _bytes(count: Any) -> str:
    return "–" if count is None else readable_bytes(float(count))


def _cell(name: str, value: Any) -> str:
    if name.endswith("bytes"):
        return _bytes(value)
    if isinstance(value, bool | str):
        return str(value)
    return _number(value, 2 if name == "times_steady" else 0 if isinstance(value, int) or name.endswith("ms") else 1)
