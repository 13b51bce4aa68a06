"""Which Java Spark will use: the first one of version 17 or newer among JAVA_HOME, PATH and the usual places.

Spark itself only complains in a traceback, after seconds; this says it in one line before anything starts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path

from whimbrel.model.errors import BadInput

OLDEST = 17
"""The oldest Java on which Spark 4 starts."""

USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*",
    "/usr/local/opt/openjdk*",
)
"""Where the package managers of Debian, Fedora and macOS put a Java."""


def find_java_home(environment: Mapping[str, str]) -> Path:
    """The home of a Java 17 or newer. Raises BadInput with the versions that were found but are too old."""
    too_old: list[str] = []
    for home in _candidates(environment):
        version = _major_version(home)
        if version is not None and version >= OLDEST:
            return home
        if version is not None:
            too_old.append(f"{home} is Java {version}")
    seen = "; ".join(dict.fromkeys(too_old)) or "none was found in JAVA_HOME, on PATH or under /usr/lib/jvm"
    raise BadInput(f"Spark needs Java {OLDEST} or newer ({seen}): install one or set JAVA_HOME to it")


def use_java(environment: MutableMapping[str, str]) -> None:
    """Makes ``environment`` name a Java that Spark can use. Raises BadInput where there is none."""
    environment["JAVA_HOME"] = str(find_java_home(environment))


def offer_to_spark(environment: MutableMapping[str, str]) -> None:
    """Names a Java and this Python where Spark looks for them. Where there is no Java, pure commands still run."""
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    with suppress(BadInput):
        use_java(environment)


def explanation(error: Exception, environment: Mapping[str, str]) -> BadInput | None:
    """What to do about an error with which Spark reports that its Java did not start; None for any other error."""
    if "JAVA_GATEWAY_EXITED" not in str(error) and "UnsupportedClassVersionError" not in str(error):
        return None
    try:
        home = find_java_home(environment)
    except BadInput as no_java:
        return no_java
    return BadInput(f"Spark's Java ({home}) ended while starting: try another Java {OLDEST} or newer in JAVA_HOME")


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if named := environment.get("JAVA_HOME"):
        yield Path(named)
    if on_path := shutil.which("java", path=environment.get("PATH", os.defpath)):
        yield Path(on_path).resolve().parent.parent
    for pattern in USUAL_PLACES:
        yield from sorted(Path("/").glob(pattern.lstrip("/")))


def _major_version(home: Path) -> int | None:
    """17 for "17.0.9", 8 for "1.8.0"; None where there is no working java."""
    described = home / "release"
    if (home / "bin" / "java").exists() and described.is_file():
        text = described.read_text(encoding="utf-8", errors="replace")
    else:
        text = _spoken_version(home / "bin" / "java")
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def _spoken_version(java: Path) -> str:
    try:
        spoken = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return spoken.stderr + spoken.stdout
