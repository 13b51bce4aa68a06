"""The examples in docstrings are true."""

import doctest
from importlib import import_module

import pytest
from tests.house.contracts import may_use_spark
from tests.house.source import Module, modules

WITH_EXAMPLES = [module for module in modules() if ">>> " in module.text]


def name_of(module: Module) -> str:
    """The dotted name as the test's name."""
    return module.name


def examples_of(module: Module) -> doctest.TestResults:
    """Runs every example of one module."""
    return doctest.testmod(import_module(module.name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


@pytest.mark.parametrize("module", [m for m in WITH_EXAMPLES if not may_use_spark(m)], ids=name_of)
def test_the_examples_of_a_module_hold(module: Module) -> None:
    assert examples_of(module).failed == 0


@pytest.mark.spark
@pytest.mark.parametrize("module", [m for m in WITH_EXAMPLES if may_use_spark(m)], ids=name_of)
def test_the_examples_of_a_spark_module_hold(module: Module, spark) -> None:
    assert examples_of(module).failed == 0
