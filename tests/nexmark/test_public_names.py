"""What ``whimbrel.nexmark`` offers is there, and naming the package loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from whimbrel import nexmark


@pytest.mark.parametrize("name", nexmark.__all__)
def test_every_public_name_leads_somewhere(name):
    assert getattr(nexmark, name).__doc__


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'queries_of'"):
        nexmark.queries_of


def test_importing_the_package_loads_no_spark_and_no_arrow():
    program = "import sys; from whimbrel import nexmark; sys.exit(bool({'pyspark', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_every_public_name_stands_in_the_list_of_names():
    assert sorted(nexmark.__all__) == nexmark.__all__ == list(nexmark._HOMES)
