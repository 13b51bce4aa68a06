"""Draws docs/pictures/live-migration.svg from the results of scripts/measure_live_migration.py."""

import json
from pathlib import Path

from whimbrel.report import draw_comparison, read_lanes

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def main() -> None:
    """Reads the results, writes the picture beside them."""
    results = json.loads((PICTURES / "live-migration.json").read_text(encoding="utf-8"))
    target = PICTURES / "live-migration.svg"
    target.write_text(draw_comparison(*read_lanes(results)), encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main()
