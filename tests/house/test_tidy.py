"""The tree keeps the house style."""

from tests.house import tidiness
from tests.house.source import ROOT, modules, tracked_files


def none(faults: list[str]) -> bool:
    """Fails with one line per fault."""
    assert not faults, "\n" + "\n".join(faults)
    return True


def test_modules_and_functions_can_be_seen_at_once() -> None:
    assert none(tidiness.length_faults(modules()))


def test_functions_are_short_in_the_middle() -> None:
    assert tidiness.median_function_lines(modules()) <= tidiness.MEDIAN_LINES_PER_FUNCTION


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert none(tidiness.name_faults(modules()))


def test_nothing_runs_foreign_bytes_or_reaches_into_the_jvm() -> None:
    assert none(tidiness.call_faults(modules()))


def test_initializers_only_re_export() -> None:
    assert none(tidiness.initializer_faults(modules()))


def test_numbers_with_a_unit_say_it_in_their_name() -> None:
    assert none(tidiness.unit_faults(modules()))


def test_there_are_no_open_ends() -> None:
    code = [path for path in tracked_files() if path.suffix in {".py", ".sh", ".md", ".toml"}]
    assert none(tidiness.text_faults(code, ROOT, tidiness.OPEN_ENDS))


def test_no_file_names_a_machine_or_a_registry() -> None:
    assert none(tidiness.text_faults(tracked_files(), ROOT, tidiness.FOREIGN_PLACES))


def test_the_front_page_fits_on_a_hundred_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 100
