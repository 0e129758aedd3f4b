"""Several hosts, one per line."""

from pathlib import Path

from click.testing import CliRunner, Result

from app.cli.main import benchwright
from app.hosts.host_lines import host_lines
from app.hosts.hosts import HostEntry
from app.services import Workstation
from tests.messages import messages

MESSAGES = messages("app", "test_host_lines")

TEXT = """
# the fleet
root@192.0.2.14:2222
ssh ann@192.0.2.14 -p 2200 -J ops@bastion
web-1
web-1
ssh -W x h
local
"""


def test_each_line_is_a_host_or_says_why_it_is_none() -> None:
    first, second, third, again, wrong, local = host_lines(TEXT, taken={"db-1"})
    assert first.entry == HostEntry("192.0.2.14", user="root", port=2222)
    assert second.entry == HostEntry(
        "192.0.2.14-2200", host_name="192.0.2.14", user="ann", port=2200, jump="ops@bastion"
    )
    assert third.entry == HostEntry("web-1")
    assert (again.number, again.entry, again.fault) == (6, None, MESSAGES["already"])
    assert wrong.entry is None
    assert "-W" in wrong.fault
    assert local.entry is None


def test_a_name_that_no_host_can_have_is_refused() -> None:
    long, user = host_lines(f"{'h' * 256}\n{'u' * 256}@web-1")
    assert (long.entry, user.entry) == (None, None)
    assert "255" in long.fault


def test_a_host_whose_name_is_in_use_is_named_by_user() -> None:
    (line,) = host_lines("ann@web-1", taken={"web-1"})
    assert line.entry == HostEntry("ann-web-1", host_name="web-1", user="ann")


def test_the_command_line_replaces_a_host_only_on_request(tmp_path: Path) -> None:
    def add(*words: str) -> Result:
        workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
        return CliRunner().invoke(benchwright, ["hosts", "add", *words], obj=workstation)

    assert add("root@h1:2222").stdout.startswith("Saved h1. ")
    assert add("root@h1:2222").exit_code == 0  # the same again
    refused = add("ssh root@h1 -p 2223")
    assert (refused.exit_code, "root@h1:2222" in refused.stderr, "--replace" in refused.stderr) == (2, True, True)
    assert "Replaced h1, which was root@h1:2222." in add("ssh root@h1 -p 2223", "--replace").stdout
    secret = add("ssh://ann:pw@h2")
    assert (secret.exit_code, "pw" in secret.output) == (2, False)
    assert add("").exit_code == 2
    assert add("--name", "x", "a", "b").exit_code == 2
