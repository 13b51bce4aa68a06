"""Prints the home of the Java that Spark should use, or one line that says what to do (exit code 2)."""

import os
import sys

from whimbrel.cli.java import find_java_home
from whimbrel.model.errors import BadInput

try:
    print(find_java_home(os.environ))
except BadInput as error:
    print(f"whimbrel: {error}", file=sys.stderr)
    sys.exit(2)
