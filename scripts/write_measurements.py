"""Writes docs/explanation/nexmark-measured.md and its pictures from the answers in docs/measurements."""

import argparse
import json
from pathlib import Path

from whimbrel.report import page_of_measurements, pictures_of_measurements

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> None:
    """Reads every answer, writes the page and the pictures; without answers there is no page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=DOCS, help="The folder of the documentation.")
    docs = parser.parse_args().docs
    answers = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(docs.glob("measurements/*.json"))
    }
    page = docs / "explanation" / "nexmark-measured.md"
    text = page_of_measurements(answers)
    if not text:
        page.unlink(missing_ok=True)
        print("no answers: run scripts/measure_nexmark.py first")
        return
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    for name, drawing in pictures_of_measurements(answers).items():
        picture = docs / "pictures" / f"{name}.svg"
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_text(drawing, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
