"""Hosts of each source of an inventory, from samples in the format of its documentation."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.fleet.inventory import InventoryError, checked_attributes
from app.fleet.inventory_sources.found import FoundHost, FoundInventory
from app.fleet.inventory_sources.sources import Source, inventory_in, read_inventory
from app.host_attributes import HostAttributes
from app.hosts.hosts import HostEntry, SavedHosts
from suites.errors import BenchwrightError

DATA = Path(__file__).parents[1] / "data" / "inventory"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def read(name: str, *, private: bool = False) -> tuple[Source, FoundInventory]:
    return inventory_in((DATA / name).read_text(), private=private, now=NOW)


def added(found: FoundInventory) -> dict[str, FoundHost]:
    return {one.entry.name: one for one in found.hosts if not one.problem}


def addresses(found: FoundInventory) -> dict[str, str | None]:
    return {name: one.entry.host_name for name, one in added(found).items()}


def skipped(found: FoundInventory) -> dict[str, str]:
    return {one.entry.name: one.problem for one in found.hosts if one.problem}


def test_instances_of_aws() -> None:
    source, found = read("aws.json")
    assert source is Source.AWS
    assert addresses(found) == {
        "web-1": "203.0.113.11", "web-2": "203.0.113.12", "i-0123456789abcde03": "10.0.1.3",
        "i-0123456789abcde04": "10.0.1.4", "i-0123456789abcde05": "10.0.1.5",
    }  # fmt: skip
    assert skipped(found) == {"old": "not running: stopped", "win": "runs Windows", "gone": "not running: terminated"}
    assert added(found)["web-1"].attributes == HostAttributes(
        "c5.large", "eu-west-1a", None, "", "ami-0123456789abcdef0", "2026-11-02T08:12:41+00:00",
        "i-0123456789abcde01", "", ("c5.large",),
    )  # fmt: skip
    assert addresses(read("aws.json", private=True)[1])["web-1"] == "10.0.1.1"


def test_the_shapes_of_queries_of_aws_are_read() -> None:
    whole = json.loads((DATA / "aws.json").read_text())
    expected = addresses(read("aws.json")[1])
    nested = [one["Instances"] for one in whole["Reservations"]]
    flat = [one for each in nested for one in each]
    for shape in (whole["Reservations"], nested, flat):
        source, found = inventory_in(json.dumps(shape))
        assert (source, addresses(found)) == (Source.AWS, expected)


def test_instances_of_gcloud() -> None:
    source, found = read("gcloud.json")
    assert source is Source.GCLOUD
    assert addresses(found) == {
        "bench-a": "198.51.100.1", "bench-b": "10.132.0.2",
        "same-europe-west1-b": "198.51.100.3", "same-europe-west1-c": "198.51.100.4",
    }  # fmt: skip
    assert skipped(found) == {"off": "not running: terminated"}
    assert added(found)["bench-a"].attributes == HostAttributes(
        "n2-standard-4", "europe-west1-b", None, "", "debian-12-bookworm", "2026-11-02T08:14:01+00:00",
        "1000000000000000001", "", ("n2-standard-4",),
    )  # fmt: skip


def test_machines_of_azure() -> None:
    source, found = read("azure.json")
    assert source is Source.AZURE
    assert addresses(found) == {"vm-1": "203.0.113.21", "vm-2": "10.1.0.2"}
    assert skipped(found) == {"vm-3": "not running: deallocated", "vm-4": "runs Windows"}
    one = added(found)["vm-1"]
    assert (one.entry.user, one.attributes.zone, one.attributes.launched) == (
        "azureuser", "westeurope-1", "2026-11-03T09:00:01+00:00",
    )  # fmt: skip
    assert one.attributes.image == "Canonical:0001-com-ubuntu-server-jammy:22_04-lts-gen2:22.04.202611010"
    assert "--show-details" in skipped(read("azure-without-details.json")[1])["vm-1"]


def test_hosts_of_ansible() -> None:
    source, found = read("ansible.json")
    hosts = added(found)
    assert source is Source.ANSIBLE
    assert hosts["web1"].entry == HostEntry(
        "web1", host_name="192.0.2.11", port=2222, user="ubuntu", identity_file="~/.ssh/bench"
    )
    assert hosts["web1"].attributes == HostAttributes(
        "c5.large", "eu-west-1a", None, "", "ami-0123456789abcdef0", "2026-11-01T08:12:41+00:00",
        "i-0123456789abcde01", "", ("web", "site"),
    )  # fmt: skip
    assert hosts["web2"].entry.jump == "ops@bastion.example.com"
    assert hosts["db1"].entry == HostEntry("db1", host_name="db1.example.com", user="postgres")
    assert hosts["gcp1"].attributes.instance_type == "n2-standard-4"
    assert hosts["bare.example.com"] == FoundHost(HostEntry("bare.example.com"), HostAttributes())
    assert skipped(found).keys() == {"win1", "localhost", "odd"}
    assert [note.partition(": ")[2] for note in found.notes] == ["web2 and db1.", "db1."]  # passwords, ProxyCommand
    assert "canary" not in repr(found)
    assert addresses(read("ansible.json", private=True)[1])["web1"] == "10.0.1.1"


def test_hosts_of_terraform() -> None:
    source, found = read("terraform.json")
    assert source is Source.TERRAFORM
    assert addresses(found) == {
        "worker-1": "203.0.113.31", "i-0123456789abcde33": "10.0.2.33", "gcp-1": "198.51.100.7", "az-1": "203.0.113.71",
        "bastion_public_ip": "203.0.113.5", "web_public_ips-2": "203.0.113.32",
        "node-a": "203.0.113.41", "node-b": "node-b.example.com",
    }  # fmt: skip
    assert skipped(found) == {"web_public_ips-1": "same address as worker-1"}
    assert [note.partition(": ")[2] for note in found.notes] == ["db_password.", "vpc_cidr.", "web_private_ips."]
    assert "canary" not in repr(found)
    assert added(found)["gcp-1"].attributes.zone == "europe-west1-b"
    assert added(found)["az-1"].entry.user == "azureuser"
    private = addresses(read("terraform.json", private=True)[1])
    assert (private["web_private_ips-2"], private["worker-1"]) == ("10.0.2.32", "10.0.2.31")
    assert "web_public_ips-2" not in private


def test_hosts_of_a_table() -> None:
    source, found = read("hosts.csv")
    assert source is Source.CSV
    assert addresses(found) == {
        "web-1": "192.0.2.11", "web-2": "192.0.2.12", "web-2-2": "192.0.2.13", "2001-db8-1": "2001:db8::1",
    }  # fmt: skip
    first = added(found)["web-1"]
    assert first.entry == HostEntry(
        "web-1", host_name="192.0.2.11", port=2222, user="ubuntu", identity_file="~/.ssh/bench", jump="bastion"
    )
    assert first.attributes == HostAttributes(
        "c5.large", "eu-1a", 0.085, "USD", "ami-1", "2026-10-31T00:00:00+00:00", "i-1", "", ("web", "front")
    )
    assert added(found)["web-2-2"].attributes == HostAttributes(storage="nfs-1")
    assert skipped(found).keys() == {"bad-price", "bad-age", "bad-port", "bad-address", "long"}
    assert [note.partition(": ")[2] for note in found.notes] == ["owner."]


def test_the_state_of_terraform() -> None:
    source, found = read("terraform-state.json")
    assert source is Source.TERRAFORM
    assert addresses(found) == {"web-1": "203.0.113.61", "db": "203.0.113.62"}
    assert skipped(found) == {"web-2": "no address"}
    one = added(found)["web-1"].attributes
    assert (one.instance_type, one.zone, one.groups) == ("c5.large", "eu-west-1a", ("web",))
    assert addresses(read("terraform-state.json", private=True)[1])["web-1"] == "10.0.2.61"


def test_one_invalid_price_skips_its_host_only() -> None:
    _, found = inventory_in("host;address;price\na;192.0.2.1;0,085\nb;192.0.2.2;0.1\n")
    assert list(added(found)) == ["b"]
    assert "ambiguous" in skipped(found)["a"]


def test_a_second_host_of_an_address_is_skipped() -> None:
    table = "host,address,port\na,192.0.2.1,\nb,192.0.2.1,22\nc,192.0.2.1,2222\n"
    _, found = inventory_in(table)
    assert list(added(found)) == ["a", "c"]
    assert skipped(found) == {"b": "same address as a"}


def test_a_changed_name_is_noted() -> None:
    _, found = inventory_in('host,address\nweb-1,192.0.2.1\nweb-1,192.0.2.2\n"db,1",192.0.2.3\n')
    assert [one.entry.name for one in found.hosts] == ["web-1", "web-1-2", "db-1"]
    first, second, third = (one.note for one in found.hosts)
    assert not first
    assert "“web-1”" in second
    assert "“db,1”" in third


def test_pages_of_aws_are_joined_and_a_missing_one_is_noted() -> None:
    first, second = (
        json.dumps({"Reservations": [{"Instances": [{"InstanceId": name, "PublicIpAddress": address, **RUNNING}]}]})
        for name, address in (("i-1", "203.0.113.1"), ("i-2", "203.0.113.2"))
    )
    _, found = inventory_in(f"{first}\n{second}")
    assert list(added(found)) == ["i-1", "i-2"]
    assert found.notes == ()
    _, found = inventory_in(json.dumps({**json.loads(first), "NextToken": "canary"}))
    assert "NextToken" in found.notes[0]


RUNNING = {"State": {"Name": "running"}}


def test_a_number_that_is_no_address_is_skipped() -> None:
    _, found = inventory_in("host,address\na,999.1.1.1\nb,4.example.com\n")
    assert list(added(found)) == ["b"]


def test_every_host_can_be_saved(tmp_path: Path) -> None:
    for path in sorted(DATA.iterdir()):
        found = added(read_inventory(path)[1])
        SavedHosts(tmp_path / "hosts.toml").save(*(one.entry for one in found.values()))
        for name, one in found.items():
            assert checked_attributes(name, one.attributes) == one.attributes


@pytest.mark.parametrize(
    ("text", "source", "shown"),
    [
        ("", None, "is empty"),
        (" \n", Source.CSV, "is empty"),
        ("{}", None, "not recognised"),
        ("[]", None, "not recognised"),
        ("hello", None, "not recognised"),
        ("[[[[[[{}]]]]]]", None, "not recognised"),
        ('{"Reservations": []}', None, "no host of aws"),
        ("[]", Source.GCLOUD, "no host of gcloud"),
        ("host,zone", None, "no host of csv"),
        ("zone,type\na,b", Source.CSV, "lacks host and address"),
        ("host,name\na,b", None, "are the same"),
        ('host\n"a', None, "not valid CSV"),
        ("host,zone", Source.AWS, "not JSON of aws"),
        ('{"a": NaN}', None, "not valid JSON"),
        ('{"a": 1, "a": 2}', None, "twice"),
        ("[" * 100_000, None, "nested too deeply"),
        (json.dumps([{"vmId": "1", "InstanceId": "2"}]), None, "may be of aws or azure"),
        (json.dumps([{"InstanceId": str(number)} for number in range(20_001)]), None, "it has 20,001 hosts"),
        ("host\n" + "\n".join(map(str, range(20_001))), None, "it has 20,001 hosts"),
    ],
)
def test_an_unclear_text_is_refused(text: str, source: Source | None, shown: str) -> None:
    with pytest.raises(InventoryError, match=shown):
        inventory_in(text, source)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({"ansible_host": "-oProxyCommand=x"}, "is not an address"),
        ({"ansible_host": "a b"}, "is not an address"),
        ({"ansible_host": "a" * 300}, ""),  # cut to a name that is none
        ({"ansible_user": "a b"}, "is not a user name"),
        ({"ansible_user": "-oX"}, "is not a user name"),
        ({"ansible_port": "22; rm"}, "is not a port"),
        ({"ansible_ssh_common_args": "-J '-oProxyCommand=x'"}, "is not a jump host"),
        ({"ansible_ssh_common_args": "-J '{{ jump }}'"}, "is not a jump host"),
    ],
)
def test_a_hostile_value_is_not_saved(values: Mapping[str, Any], shown: str) -> None:
    _, found = inventory_in(json.dumps({"_meta": {"hostvars": {"a": values}}}))
    assert shown in found.hosts[0].problem


@pytest.mark.parametrize("name", ["-a", "a b", "a=b", "a*", "local", "a:b", "\x1b[31m", "a" * 300, "'"])
def test_a_name_is_made_valid(tmp_path: Path, name: str) -> None:
    _, found = inventory_in(json.dumps({"_meta": {"hostvars": {name: {"ansible_host": "192.0.2.1"}}}}))
    (host,) = found.hosts
    SavedHosts(tmp_path / "hosts.toml").save(host.entry)
    assert (host.problem, host.entry.host_name) == ("", "192.0.2.1")


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["10.0.0.1", "running"])
KEYS = st.sampled_from([
    "Reservations", "Instances", "InstanceId", "State", "Name", "Tags", "Key", "Value", "PublicIpAddress", "name",
    "networkInterfaces", "accessConfigs", "natIP", "disks", "boot", "licenses", "status", "machineType", "powerState",
    "hardwareProfile", "storageProfile", "zones", "_meta", "hostvars", "hosts", "children", "vars", "ansible_host",
    "ansible_ssh_common_args", "value", "sensitive", "public_ip", "tags", "network_interface", "access_config",
])  # fmt: skip
NESTED = st.recursive(LEAVES, lambda each: st.lists(each, max_size=4) | st.dictionaries(KEYS, each, max_size=5))


@settings(max_examples=300, deadline=None)
@given(NESTED, st.sampled_from(list(Source)), st.booleans())
def test_any_json_is_read_or_refused(content: Any, source: Source, private: bool) -> None:  # noqa: FBT001
    try:
        _, found = inventory_in(json.dumps(content), source, private=private)
    except BenchwrightError:
        return
    names = [one.entry.name for one in found.hosts if not one.problem]
    assert len(names) == len(set(names))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_table_is_read_or_refused(text: str) -> None:
    try:
        _, found = inventory_in(f"host,address,price,age,port\n{text}", Source.CSV)
    except BenchwrightError:
        return
    for one in found.hosts:
        assert one.problem or checked_attributes(one.entry.name, one.attributes) == one.attributes


@pytest.mark.parametrize("age", ["-5", "nan", "x", "1e9"])
def test_an_age_that_is_none_skips_the_host(age: str) -> None:
    _, found = inventory_in(f"host,address,age\nweb-1,192.0.2.1,{age}\nweb-2,192.0.2.2,0.5\n", Source.CSV)
    assert [one.problem for one in found.hosts] == [f"“{age}” is not an age in days", ""]
