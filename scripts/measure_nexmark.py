"""Measures NEXMark and Megaphone's experiments for docs/measurements, one command of whimbrel after the other.

Take a quiet machine: on two cores it takes about three quarters of an hour (``--list`` names the parts, ``--only`` takes
some of them). Each part writes its answer as soon as it is there, so a run can be cut off and gone on with. Then
scripts/write_measurements.py writes the page and the pictures. ``--quick`` takes tiny sizes, to see that all of it works;
its figures mean nothing, so it wants another folder than ours: ``--quick --docs out/docs``.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whimbrel.bench.machine import machine
from whimbrel.report import compacted

DOCS = Path(__file__).resolve().parent.parent / "docs"
QUERIES = ("q3", "q4", "q5", "q6", "q7", "q8")
PACINGS = "all-at-once,batched,optimized"
OFFLINE = "spark-offline-repartition"
EXPERIMENTS = ("overhead", "bins", "keys", "keys-per-bin", "load", "memory")
CHECKED = ["--events", "1000000"]
QUICK = {
    "check": ["q3", "q5", "--events", "3000"],
    "nexmark-all": ["--events", "20000"],
    "timelines": ["--preload", "20000", "--rate", "500", "--seconds", "2"],
    "megaphone-overhead": ["keys=1000", "rate=500", "bins=16,64", "seconds=2"],
    "megaphone-bins": ["keys=1000", "rate=500", "bins=16,64", "seconds=2"],
    "megaphone-keys": ["keys=1000,2000", "rate=500", "bins=16", "seconds=2"],
    "megaphone-keys-per-bin": ["keys_per_bin=100", "rate=500", "bins=16,32", "seconds=2"],
    "megaphone-load": ["keys=1000", "rate=500,1000", "bins=16", "seconds=2"],
    "megaphone-memory": ["keys=1000", "rate=500", "bins=16", "seconds=2"],
}


def whimbrel(*arguments: str, negative: int = 0) -> dict[str, Any]:
    """The answer of one command; its words on standard error pass through. Ends the script where the command fails.

    ``negative`` is the exit code with which the command says an answer that nobody hoped for.
    """
    print("whimbrel", *arguments, file=sys.stderr)
    ended = subprocess.run(
        [sys.executable, "-m", "whimbrel.cli", *arguments, "--json"], check=False, stdout=subprocess.PIPE, text=True
    )
    if ended.returncode not in (0, negative) or not ended.stdout:
        raise SystemExit(f"whimbrel {' '.join(arguments)} ended with {ended.returncode}: nothing of it was kept")
    return dict(json.loads(ended.stdout))


def check(docs: Path, out: Path, quick: bool) -> None:
    """Every query ridden through three migrations, against both references."""
    answer = whimbrel("nexmark", "check", *(QUICK["check"] if quick else CHECKED), negative=1)
    save(docs, "check", {**answer, "machine": machine()})


def throughput(docs: Path, out: Path, quick: bool) -> None:
    """Every query with every system; quickly, one."""
    name, sizes = ("nexmark-q3", QUICK["nexmark-all"]) if quick else ("nexmark-all", [])
    save(docs, "nexmark-all", whimbrel("bench", name, "--out", str(out), *sizes))


def timeline(query: str, with_offline: bool) -> Callable[[Path, Path, bool], None]:
    """The part that measures one query's timelines, and adds them to those of the other queries."""

    def part(docs: Path, out: Path, quick: bool) -> None:
        peers = f"{PACINGS},{OFFLINE}" if with_offline else PACINGS
        sizes = QUICK["timelines"] if quick else []
        answer = whimbrel("bench", f"timelines-{query}", "--peers", peers, "--out", str(out), *sizes)
        path = docs / "measurements" / "timelines.json"
        kept = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else []
        kept = [record for record in kept if record["query"] != query]
        results = sorted(kept + [compacted(record) for record in answer["results"]], key=lambda record: record["query"])
        save(docs, "timelines", {**answer, "bench": "timelines", "results": results})

    return part


def experiment(name: str) -> Callable[[Path, Path, bool], None]:
    """The part that runs one of Megaphone's experiments and keeps its picture."""
    identity = f"megaphone-{name}"

    def part(docs: Path, out: Path, quick: bool) -> None:
        sizes = [each for size in (QUICK[identity] if quick else []) for each in ("--size", size)]
        answer = whimbrel("experiment", "run", identity, "--out", str(out), *sizes)
        (docs / "pictures").mkdir(parents=True, exist_ok=True)
        shutil.copy(out / f"{identity}.svg", docs / "pictures")
        save(docs, identity, {**answer, "figures": [f"{identity}.svg"]})

    return part


def save(docs: Path, name: str, answer: dict[str, Any]) -> None:
    """Keeps an answer, one record a line, so that a change of one can be seen."""
    path = docs / "measurements" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = next(name for name in ("rows", "results", "queries") if name in answer)
    lines = ",\n".join(json.dumps(record) for record in answer[records])
    rest = json.dumps({key: value for key, value in answer.items() if key != records})
    path.write_text(f'{rest[:-1]}, "{records}": [\n{lines}\n]}}\n', encoding="utf-8")
    print(path, file=sys.stderr)


def parts(offline: str) -> dict[str, Callable[[Path, Path, bool], None]]:
    """Every part by its name, in order."""
    found: dict[str, Callable[[Path, Path, bool], None]] = {"check": check, "nexmark-all": throughput}
    found |= {f"timelines-{query}": timeline(query, query in offline.split(",")) for query in QUERIES}
    return found | {f"megaphone-{name}": experiment(name) for name in EXPERIMENTS}


def main() -> None:
    """Takes the parts that are asked for, in order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="Parts to take, separated by commas; all by default.")
    parser.add_argument(
        "--offline", help="Queries that Spark's own way is measured with too; all by default, quickly the first."
    )
    parser.add_argument(
        "--docs", type=Path, help="The folder of the documentation; by default that of this repository."
    )
    parser.add_argument("--quick", action="store_true", help="Tiny sizes, to see that it works.")
    parser.add_argument("--list", action="store_true", help="Name the parts.")
    given = parser.parse_args()
    offline = given.offline if given.offline is not None else ",".join(QUERIES[:1] if given.quick else QUERIES)
    known = parts(offline)
    if given.list:
        print("\n".join(known))
        return
    if given.quick and given.docs is None:
        parser.error(
            "--quick would write figures that mean nothing over the measured ones: name another folder with --docs"
        )
    wanted = given.only.split(",") if given.only else list(known)
    for name in wanted:
        if name not in known:
            parser.error(f"there is no part {name!r}: there are {', '.join(known)}")
    with tempfile.TemporaryDirectory(prefix="whimbrel-measured-") as folder:
        for name in wanted:
            begun = time.monotonic()
            known[name](given.docs or DOCS, Path(folder), given.quick)
            print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
