"""benchwright inventory: hosts are imported with a preview, and their attributes and groups are stated and listed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from app.cli.main import benchwright
from app.fleet.inventory_import import ImportAction, ImportOptions, import_preview
from app.fleet.inventory_sources.sources import inventory_in
from app.hosts.hosts import HostEntry
from app.services import Workstation
from tests.printed_json import errors

DATA = Path(__file__).parents[1] / "data" / "inventory"
Call = Callable[..., Result]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)

    def invoke(*words: str, text: str | bytes | None = None) -> Result:
        return CliRunner().invoke(benchwright, ["--store", str(tmp_path / "runs.sqlite3"), *words], input=text)

    return invoke


def inventory_of(call: Call) -> dict[str, Any]:
    content = json.loads(call("inventory", "--json").stdout)
    assert not errors("inventory", content)
    return {host.pop("name"): host for host in content["hosts"]} | {f"@{one['name']}": one for one in content["groups"]}


def test_an_import_is_previewed_confirmed_and_stored(call: Call, tmp_path: Path) -> None:
    file = str(DATA / "aws.json")
    refused = call("inventory", "import", file)
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    preview = call("inventory", "import", file, "--dry-run")
    assert "5 added, 3 skipped" in preview.stdout
    assert "not running: stopped" in preview.stdout
    assert inventory_of(call).keys() == {"local"}
    done = call(
        "inventory", "import", file, "--yes", "--user", "ubuntu", "--jump", "ops@bastion", "--group", "mine", "--json"
    )
    content = json.loads(done.stdout)
    assert not errors("inventory-import", content)
    assert content["stored"]
    assert [one["action"] for one in content["hosts"]] == ["added"] * 5 + ["skipped"] * 3
    found = inventory_of(call)
    assert found["web-1"]["groups"] == ["c5.large", "mine"]
    assert found["@mine"]["hosts"] == [
        "i-0123456789abcde03", "i-0123456789abcde04", "i-0123456789abcde05", "web-1", "web-2",
    ]  # fmt: skip
    assert "ubuntu@203.0.113.11 via ops@bastion" in call("hosts").stdout
    assert not (tmp_path / "runs.sqlite3").exists()


def test_an_import_of_the_same_hosts_changes_nothing(call: Call) -> None:
    for name in ("aws.json", "gcloud.json", "azure.json", "ansible.json", "terraform.json", "hosts.csv"):
        words = ("inventory", "import", str(DATA / name), "--yes")
        assert call(*words, "--replace").exit_code == 0
        again = json.loads(call(*words, "--json").stdout)
        assert {one["action"] for one in again["hosts"]} <= {"unchanged", "skipped"}, name
        assert not again["stored"]


def test_standard_input_is_read(call: Call) -> None:
    table = "host,type,price,currency,age\nweb-1,c5.large,0.34,EUR,1\n"
    assert call("inventory", "import", "-", "--yes", text=table).exit_code == 0
    assert (inventory_of(call)["web-1"]["price"], inventory_of(call)["web-1"]["currency"]) == (0.34, "EUR")
    for text in (b"\xff\xfe\x00", "hello"):
        assert call("inventory", "import", "-", "--yes", text=text).exit_code == 2
    assert call("inventory", "import", "-", "--from", "aws", text=table).exit_code == 2


def actions(known: list[HostEntry], table: str, options: ImportOptions, stated: Workstation) -> dict[str, Any]:
    preview = import_preview(inventory_in(table)[1], known, stated.inventory.read(), options)
    return {one.entry.name: (one.action, one.entry.host_name, one.saves) for one in preview.hosts}


def test_a_saved_host_is_not_replaced_unless_asked(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    workstation.save_hosts(HostEntry("web-1", host_name="192.0.2.1"), HostEntry("web-2", host_name="192.0.2.2"))
    table = "host,address,type\nweb-1,192.0.2.9,c5.large\nweb-2,192.0.2.2,c5.large\n"
    known = workstation.hosts()
    assert actions(known, table, ImportOptions(), workstation) == {
        "web-1": (ImportAction.SKIPPED, "192.0.2.9", False), "web-2": (ImportAction.CHANGED, "192.0.2.2", False),
    }  # fmt: skip
    replaced = actions(known, table, ImportOptions(replaces=True), workstation)
    assert replaced["web-1"] == (ImportAction.CHANGED, "192.0.2.9", True)


def test_an_alias_of_ssh_config_keeps_its_settings(tmp_path: Path) -> None:
    config = Path.home() / ".ssh" / "config"
    config.parent.mkdir(exist_ok=True)
    config.write_text("Host web-1\n  HostName 198.51.100.1\n")
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    table = "host,address,type,id\nweb-1,192.0.2.9,c5.large,i-1\n"
    preview = workstation.preview_import(inventory_in(table)[1], ImportOptions())
    workstation.store_import(preview)
    assert workstation.inventory.attributes()["web-1"].instance_type == "c5.large"
    assert not workstation._hosts.saved.entries()
    other = table.replace("web-1", "renamed")  # the same instance by another name
    assert actions(workstation.hosts(), other, ImportOptions(), workstation)["renamed"][0] is ImportAction.SKIPPED


def test_instances_that_left_the_source_are_named(call: Call) -> None:
    table = "host,address,zone,id\nweb-1,192.0.2.1,eu-1a,i-1\nweb-2,192.0.2.2,eu-1a,i-2\nus-1,192.0.2.3,us-1,i-3\n"
    assert call("inventory", "import", "-", "--yes", text=table).exit_code == 0
    again = call("inventory", "import", "-", "--dry-run", text="host,address,zone,id\nweb-3,192.0.2.4,eu-1a,i-4\n")
    (note,) = [line for line in again.stderr.splitlines() if "hosts remove" in line]
    assert "web-1 and web-2" in note
    assert "us-1" not in note, "the source has no instance of its zone"


def test_stated_attributes_stay_when_an_import_does_not_state_them(call: Call) -> None:
    call("inventory", "import", str(DATA / "aws.json"), "--yes")
    done = call("inventory", "set", "type=c5.*", "web-1", "--price", "0.085 USD", "--storage", "nfs", "--group", "mine")
    assert "2 hosts" in done.stderr
    call("inventory", "import", str(DATA / "aws.json"), "--yes")
    one = inventory_of(call)["web-1"]
    assert (one["price"], one["currency"], one["storage"], one["groups"]) == (0.085, "USD", "nfs", ["c5.large", "mine"])
    call("inventory", "set", "web-1", "--price", "", "--not-in", "mine", "--zone", "eu-2")
    one = inventory_of(call)["web-1"]
    assert (one["price"], one["currency"], one["zone"], one["groups"]) == (None, "", "eu-2", ["c5.large"])


def test_a_price_keeps_its_currency_and_no_other_is_stated(call: Call) -> None:
    call("hosts", "add", "web-1")
    assert call("inventory", "set", "web-1", "--price", "0.36 usd").exit_code == 0
    assert call("inventory", "set", "web-1", "--price", "0.5").exit_code == 0
    assert (inventory_of(call)["web-1"]["price"], inventory_of(call)["web-1"]["currency"]) == (0.5, "USD")
    for words in (("--price", "0.36 USD", "--currency", "EUR"), ("--currency", "USD/h"), ("--price", "1 USD/h")):
        assert call("inventory", "set", "web-1", *words).exit_code == 2
    assert call("inventory", "set", "web-1", "--price", "0.4 €", "--currency", "eur").exit_code == 0
    assert inventory_of(call)["web-1"]["currency"] == "EUR"


def test_a_group_of_patterns_is_named_and_removed(call: Call) -> None:
    call("hosts", "add", "web-1", "web-2", "db-1")
    assert "web-2" in call("inventory", "group", "web", "web-*", "!web-1").stderr
    assert inventory_of(call)["@web"] == {"name": "web", "patterns": ["web-*", "!web-1"], "hosts": ["web-2"]}
    assert "web-* !web-1" in call("inventory").stdout
    assert "No host" in call("inventory", "group", "none", "x*").stderr
    assert call("inventory", "group", "web", "--remove").exit_code == 0
    assert "@web" not in inventory_of(call)


@pytest.mark.parametrize(
    "words",
    [
        ("set", "nobody", "--zone", "a"),
        ("set", "local"),
        ("set", "local", "--price", "much"),
        ("set", "local", "--launched", "yesterday"),
        ("group", "web"),
        ("group", "web", "web-*", "--remove"),
        ("group", "a b", "web-*"),
        ("group", "gone", "--remove"),
        ("import", "missing.json"),
        ("import", str(DATA / "aws.json"), "--group", "a b", "--yes"),
    ],
)
def test_bad_input_is_refused(call: Call, words: tuple[str, ...]) -> None:
    ran = call("inventory", *words)
    assert (ran.exit_code, ran.stdout) == (2, "")


def test_options_of_an_import_are_checked(call: Call) -> None:
    for option, value in (("--user", "a b"), ("--jump", "-oProxyCommand=x"), ("--identity-file", "key\n")):
        found = call("inventory", "import", "-", "--yes", option, value, text="host,address\nweb,192.0.2.1\n")
        assert found.exit_code == 2, option
        assert "web" not in inventory_of(call)


def test_a_new_name_of_a_known_address_is_noted(call: Call) -> None:
    call("inventory", "import", "-", "--yes", text="host,address\nweb,192.0.2.1\n")
    found = call("inventory", "import", "-", "--yes", text="host,address\nfront,192.0.2.1\n")
    assert "same address as web" in found.stdout


def test_the_hosts_of_an_import_are_removed_at_once(call: Call) -> None:
    table = "host,address\n" + "".join(f"web-{number},192.0.2.{number}\n" for number in range(1, 6))
    call("inventory", "import", "-", "--yes", "--group", "new", text=table)
    refused = call("hosts", "remove", "new")
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    assert "web-5" in inventory_of(call)
    assert call("hosts", "remove", "web-1", "web-2").exit_code == 0
    assert call("hosts", "remove", "new", "--yes").exit_code == 0
    assert inventory_of(call).keys() == {"local"}
    for word in ("web-1", "local", "'*'"):
        assert call("hosts", "remove", word, "--yes").exit_code == 2
