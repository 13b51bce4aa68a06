"""Writes constraints.txt from the packages of this environment: names and versions only.

A version that does not support every Python from 3.10 on carries a marker, so that older Pythons stay free to resolve.
"""

import re
from importlib.metadata import distributions
from pathlib import Path

OLDEST_MINOR = 10
NOT_PINNED = {"whimbrel", "pip", "setuptools", "wheel", "hatchling", "pathspec", "trove-classifiers", "pbr"}


def first_minor(requires_python: str | None) -> int:
    """The oldest Python 3 minor version that a Requires-Python admits; 0 where it names none."""
    lower = re.search(r">=?\s*3\.(\d+)", requires_python or "")
    return int(lower.group(1)) if lower else 0


def constraint(name: str, version: str, requires_python: str | None) -> str:
    """One line of the file."""
    minor = first_minor(requires_python)
    marker = f' ; python_version >= "3.{minor}"' if minor > OLDEST_MINOR else ""
    return f"{name}=={version}{marker}"


def main() -> None:
    """Writes the file at the root of the repository."""
    found = {
        re.sub(r"[-_.]+", "-", item.name).lower(): constraint(
            re.sub(r"[-_.]+", "-", item.name).lower(), item.version, item.metadata["Requires-Python"]
        )
        for item in distributions()
    }
    lines = [line for name, line in sorted(found.items()) if name not in NOT_PINNED]
    target = Path(__file__).resolve().parent.parent / "constraints.txt"
    target.write_text("# Written by scripts/pin_constraints.py. Names and versions only.\n" + "\n".join(lines) + "\n")
    print(f"{target.name}: {len(lines)} packages")


if __name__ == "__main__":
    main()
