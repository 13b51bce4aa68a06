"""Every public name says what it promises, and the command line's reference page says what the commands say."""

import subprocess
import sys

from tests.house.documented import undocumented
from tests.house.pages import dead_links
from tests.house.source import ROOT, modules


def test_every_public_name_is_documented() -> None:
    assert not (faults := undocumented(modules())), "\n" + "\n".join(faults)


def test_every_link_between_our_pages_leads_somewhere() -> None:
    assert not (faults := dead_links(ROOT)), "\n" + "\n".join(faults)


def test_the_command_reference_is_what_the_commands_say() -> None:
    script = ROOT / "scripts" / "write_command_reference.py"
    written = subprocess.run([sys.executable, script, "--print"], capture_output=True, text=True, check=True, cwd=ROOT)
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert page == written.stdout, "the page is out of date: run `make reference`"
