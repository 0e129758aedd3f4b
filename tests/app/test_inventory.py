"""The inventory: attributes and groups in a file that processes share, and the selection of hosts by them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.fleet.host_selection import selected
from app.fleet.inventory import Inventory, InventoryError, SavedInventory
from app.host_attributes import HostAttributes
from app.hosts.hosts import THIS_COMPUTER, HostEntry
from app.services import Workstation

WEB = HostAttributes(
    "c5.large", "eu-1a", 0.085, "USD", "ami-1", "2026-11-01T08:00:00+00:00", "i-1", "nfs", groups=("web",)
)
NAMES = ("web-10", "web-2", "db-1", "db-2")
ENTRIES = [THIS_COMPUTER, *(HostEntry(name) for name in NAMES)]
INVENTORY = Inventory(
    {
        "web-2": WEB,
        "web-10": HostAttributes("c5.large", "eu-1b", groups=("web",)),
        "db-1": HostAttributes("m5.large", groups=("db",)),
    },
    {"first": ("*-1", "!web-*"), "old": ("gone-*",), "db": ("db-2",), "db-1": ("db-*",), "all": ("*",)},
)


@pytest.fixture
def saved(tmp_path: Path) -> SavedInventory:
    return SavedInventory(tmp_path / "inventory.toml")


def test_attributes_and_groups_are_stored(saved: SavedInventory, tmp_path: Path) -> None:
    assert saved.read() == Inventory()
    saved.put({"web-1": WEB, "wéb“2”\\": HostAttributes(image='a "quoted" \\ imäge')} | {"empty": HostAttributes()})
    saved.put_group("c5", ["web-*", "!web-9", "web-*"])
    again = SavedInventory(tmp_path / "inventory.toml").read()
    assert again.attributes == {"web-1": WEB, "wéb“2”\\": HostAttributes(image='a "quoted" \\ imäge')}
    assert again.groups == {"c5": ("web-*", "!web-9")}
    assert (tmp_path / "inventory.toml").stat().st_mode & 0o777 == 0o600
    saved.remove_group("c5")
    saved.move("web-1", "web-7")
    assert saved.attributes()["web-7"] == WEB
    assert (saved.forget("web-7"), saved.groups()) == (WEB, {})
    with pytest.raises(InventoryError, match="No named group"):
        saved.remove_group("c5")


def test_a_time_of_launch_is_in_utc(saved: SavedInventory) -> None:
    saved.put({"a": HostAttributes(launched="2026-11-01T10:00:00+02:00"), "b": HostAttributes(launched="2026-11-01")})
    assert [one.launched for one in saved.attributes().values()] == [WEB.launched, "2026-11-01T00:00:00+00:00"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (HostAttributes(price=float("nan")), "price of a is nan"),
        (HostAttributes(price=0), "price of a is 0"),
        (HostAttributes(price=-1), "price of a is -1"),
        (HostAttributes(launched="yesterday"), "launch time of a is “yesterday”"),
        (HostAttributes(zone="eu\x1b[31m"), "control character"),
        (HostAttributes(image="a" * 201), "201 characters"),
        (HostAttributes(groups=("a b",)), "not the name of a group"),
        (HostAttributes(groups=("!a",)), "not the name of a group"),
    ],
)
def test_an_invalid_attribute_is_refused(saved: SavedInventory, given: HostAttributes, shown: str) -> None:
    with pytest.raises(InventoryError, match=shown):
        saved.put({"b": WEB, "a": given})
    assert saved.attributes() == {}


@pytest.mark.parametrize("host", ["", "a b", "a\n", "a" * 201])
def test_an_invalid_host_name_is_refused(saved: SavedInventory, host: str) -> None:
    with pytest.raises(InventoryError, match="not the name of a host"):
        saved.put({host: WEB})


@pytest.mark.parametrize("patterns", [[], ["!web-*"], [""], ["!"], ["a b"], ["a" * 201], ["a"] * 1001])
def test_invalid_patterns_are_refused(saved: SavedInventory, patterns: list[str]) -> None:
    with pytest.raises(InventoryError):
        saved.put_group("c5", patterns)


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "hosts = 1",
        "other = {}",
        "[hosts.a]\nprice = nan",
        "[hosts.a]\nprice = true",
        "[hosts.a]\nprice = 1e12",
        "[hosts.a]\nzone = 1",
        "[hosts.a]\nhost_name = 'b'",
        "[hosts.a]\ngroups = [1]",
        "[hosts]\na = 1",
        "[groups.c5]\nhosts = 'a'",
        "[groups.c5]\npatterns = ['a']",
        "[groups.'a b']\nhosts = ['a']",
        "\n".join(f"[hosts.a{number}]" for number in range(20_001)),
    ],
)
def test_a_damaged_file_is_refused_and_stays(saved: SavedInventory, tmp_path: Path, text: str) -> None:
    path = tmp_path / "inventory.toml"
    path.write_text(text)
    for act in (saved.read, lambda: saved.put({"web-1": WEB}), lambda: saved.forget("a")):
        with pytest.raises(InventoryError, match=r"inventory\.toml.*Fix or move the file"):
            act()
    assert path.read_text() == text


def test_changes_of_several_threads_do_not_overwrite_each_other(tmp_path: Path) -> None:
    def put(number: int) -> None:
        SavedInventory(tmp_path / "inventory.toml").put({f"web-{number}": WEB})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(40)))
    assert len(SavedInventory(tmp_path / "inventory.toml").attributes()) == 40


@pytest.mark.slow
def test_the_largest_inventory_is_stored_in_time(saved: SavedInventory) -> None:
    hosts = {f"web-{number}": WEB for number in range(20_000)}
    saved.put(hosts)
    assert saved.attributes() == hosts
    with pytest.raises(InventoryError, match="too many"):
        saved.put({"one-more": WEB})


@pytest.mark.parametrize(
    ("words", "groups"),
    [
        (["web"], {"web": ("web-2", "web-10")}),
        (["db"], {"db": ("db-1", "db-2")}),  # of the attributes and of the patterns
        (["web-*"], {"web-*": ("web-2", "web-10")}),
        (["first"], {"first": ("db-1",)}),
        (["type=c5.*", "type=m5.large"], {"type=c5.*": ("web-2", "web-10"), "type=m5.large": ("db-1",)}),
        (["zone=eu-1a"], {"zone=eu-1a": ("web-2",)}),
        (["local", "web-2"], {"hosts": ("local", "web-2")}),
        (["all"], {"all": ("db-1", "db-2", "web-2", "web-10")}),  # without this computer
        (["old:=web-10,db-2", "web-2"], {"old": ("db-2", "web-10"), "hosts": ("web-2",)}),
        (["web-*:=web-2", "type=c5.*:=db-2"], {"web-*": ("web-2",), "type=c5.*": ("db-2",)}),
        (["*", "by=type"], {"c5.large": ("web-2", "web-10"), "m5.large": ("db-1",), "no type": ("db-2",)}),
        (["web", "web-2", "by=zone"], {"eu-1a": ("web-2",), "eu-1b": ("web-10",)}),
        (["host=db-1"], {"hosts": ("db-1",)}),
        (["group=db-1"], {"group=db-1": ("db-1", "db-2")}),
    ],
)
def test_hosts_are_selected(words: list[str], groups: dict[str, tuple[str, ...]]) -> None:
    found = selected(words, ENTRIES, INVENTORY)
    assert found == groups
    assert list(found) == list(groups)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ([], "No hosts are selected"),
        (["by=type"], "No hosts are selected"),
        (["wbe"], "“wbe”.*Did you mean web"),
        (["type=c5.lrage"], "Did you mean type=c5.large"),
        (["zone=nowhere"], "Did you mean zone=eu-1a or zone=eu-1b"),
        (["xyz-*"], "List the hosts"),
        (["old"], "old has no host: no name matches gone-"),
        (["web", "web-2"], "web-2 is in two groups, web and hosts"),
        (["db-1"], "“db-1” is a host and a group.*host=db-1 or group=db-1"),
        (["colour=red"], "“colour” is not an attribute"),
        (["*", "by=colour"], "“colour” is not an attribute"),
        (["*", "by=type", "by=zone"], "by one attribute"),
        (["a:=web", "by=type"], "names a group that by=type splits"),
        (["a b:=web"], "not the name of a group"),
        (["a:=web,,db"], "No host is selected by “”"),
    ],
)
def test_an_unclear_selection_is_refused(words: list[str], shown: str) -> None:
    with pytest.raises(InventoryError, match=shown):
        selected(words, ENTRIES, INVENTORY)


def test_attributes_follow_a_host_that_is_renamed_removed_and_restored(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    workstation.save_hosts(HostEntry("web-1"))
    workstation.inventory.put({"web-1": WEB})
    workstation.inventory.put_group("c5", ["web-1", "db-*"])
    workstation.save_hosts(HostEntry("web-3", host_name="web-1"), instead=["web-1"])
    assert workstation.inventory.read() == Inventory({"web-3": WEB}, {"c5": ("web-3", "db-*")})
    assert workstation.selected_hosts(["type=c5.large"]) == {"type=c5.large": ("web-3",)}
    removed = workstation.remove_host("web-3")
    assert workstation.inventory.attributes() == {}
    workstation.restore_hosts(*removed)
    assert workstation.inventory.attributes() == {"web-3": WEB}
    workstation.close()
