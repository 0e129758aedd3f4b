"""Limits of instances and volumes from the JSON of cloud CLIs: read, stored by host, and named in the verdict."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from app.checks.cloud import LOCAL_BLOCKS
from app.checks.limits import LIMITED_BY
from app.checks.limits.disk import stated_use
from app.cli.main import benchwright
from app.formats import facts_from_json, facts_to_json
from app.hosts.cloud_limits import SavedCloudLimits, limits_in
from app.hosts.facts_rows import as_text, fact_rows
from app.hosts.hosts import HostEntry, HostsError, Origin
from app.services import Workstation
from suites.base import Context
from suites.checks import CheckOutcome
from suites.errors import BenchwrightError
from suites.facts import Absent, BlockDevice, CloudFacts, CloudLimit, Facts
from tests.app.test_step_checks import DEEP, DISK, FULL
from tests.app.test_trial_checks import two_volumes
from tests.app.trial_evidence import READ, facts, trial
from tests.messages import messages

MESSAGES = messages("app", "test_cloud_limits")

TYPE = {
    "InstanceTypes": [
        {
            "InstanceType": "m5.large",
            "EbsInfo": {
                "EbsOptimizedInfo": {
                    "BaselineBandwidthInMbps": 650, "BaselineThroughputInMBps": 81.25, "BaselineIops": 3600,
                    "MaximumBandwidthInMbps": 4750, "MaximumThroughputInMBps": 593.75, "MaximumIops": 18750,
                }
            },
            "NetworkInfo": {"NetworkCards": [{"BaselineBandwidthInGbps": 0.75, "PeakBandwidthInGbps": 10.0}]},
        }
    ]
}  # fmt: skip
VOLUME = {"Volumes": [{"VolumeId": "vol-0a1b", "VolumeType": "gp3", "Iops": 3000, "Throughput": 125}]}
SKU = [
    {"name": "Standard_D4s_v5", "resourceType": "virtualMachines", "locations": [place],
     "capabilities": [{"name": "UncachedDiskIOPS", "value": "6400"},
                      {"name": "UncachedDiskBytesPerSecond", "value": "152043520"}]}
    for place in ("westeurope", "eastus")
]  # fmt: skip


def values(content: object, device: str = "", instance_type: str = "") -> dict[str, float]:
    return {one.name: one.value for one in limits_in(json.dumps(content), device, instance_type)}


def test_the_json_of_each_cloud_is_read() -> None:
    of_type = {
        ("baseline EBS IOPS", 3600), ("baseline EBS throughput", 81.25e6), ("maximum EBS IOPS", 18750),
        ("maximum EBS throughput", 593.75e6), ("baseline bandwidth", 0.75e9), ("peak bandwidth", 10e9),
    }  # fmt: skip
    assert values(TYPE) == {f"{name} of m5.large": value for name, value in of_type}
    assert values(VOLUME, "nvme1n1") == {"IOPS of vol-0a1b": 3000, "throughput of vol-0a1b": 125 * 2**20}
    assert values({"name": "data", "provisionedIops": "3600", "provisionedThroughput": "290"}, "sdb") == {
        "IOPS of data": 3600, "throughput of data": 290e6,
    }  # fmt: skip
    assert {one.device for one in limits_in(json.dumps(VOLUME), "/dev/sdb")} == {"sdb"}
    with pytest.raises(HostsError, match="is a link"):
        values(VOLUME, "/dev/disk/by-id/nvme-1")
    with pytest.raises(HostsError, match="no limit of m6"):
        limits_in(json.dumps(TYPE), instance_type="m6.large")
    assert values({"name": "data", "diskIOPSReadWrite": 5000, "diskMBpsReadWrite": 200}, "sdc") == {
        "IOPS of data": 5000, "throughput of data": 200e6,
    }  # fmt: skip
    of_sku = values([*SKU, {**SKU[0], "name": "other"}], instance_type="Standard_D4s_v5")
    assert of_sku == {
        f"uncached disk {name} of Standard_D4s_v5": n for name, n in (("IOPS", 6400), ("throughput", 152043520))
    }


BARE = VOLUME["Volumes"][0]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(BARE),  # --query 'Volumes[0]'
        json.dumps([BARE]),
        json.dumps([[BARE]]),
        f"{json.dumps(VOLUME, indent=1)}\n{json.dumps({'Volumes': []})}\n",  # pages
        f"{json.dumps(BARE)}\n{json.dumps({**BARE, 'VolumeId': 'vol-0b', 'Iops': True, 'Throughput': None})}",
    ],
)
def test_what_a_query_or_several_pages_have_is_read(text: str) -> None:
    assert {one.name: one.value for one in limits_in(text)} == values(VOLUME)


def test_other_shapes_of_the_answers_are_read(tmp_path: Path) -> None:
    assert values(TYPE["InstanceTypes"]) == values(TYPE["InstanceTypes"][0]) == values(TYPE)
    disk = {"diskIOPSReadWrite": 5000, "diskMBpsReadWrite": 200}
    expected = values({"name": "d", **disk}, "sdc")
    assert len(expected) == 2
    for shape in ({"diskIopsReadWrite": 5000, "diskMbpsReadWrite": 200, "name": "d"},
                  {"value": [{"name": "d", "properties": disk}]}):  # fmt: skip
        assert values(shape, "sdc") == expected
    assert values({**BARE, "VolumeType": "gp2"})["baseline IOPS of vol-0a1b"] == 3000
    file = tmp_path / "volume.json"
    file.write_text(json.dumps(VOLUME), encoding="utf-16")
    assert len(SavedCloudLimits(tmp_path / "limits.json").add("web-1", file)) == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("}" + 10**5 * "\n", "not valid JSON"),
        ("Iops: 3000", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        (json.dumps({"name": "n2-standard-4", "guestCpus": 4}), "no limit"),
        (json.dumps({"name": "data", "diskIOPSReadWrite": 5000}), "the disk of this volume is not known"),
        (json.dumps([SKU[0], {**SKU[0], "name": "other"}]), "limits of several"),
        (json.dumps({"Volumes": [{"VolumeId": f"vol-{n}", "Iops": 3000} for n in range(101)]}), "101 limits"),
        (json.dumps({"Volumes": [{"VolumeId": "vol-1", "Iops": 1e300}]}), "no limit"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(text: str, shown: str) -> None:
    with pytest.raises(HostsError, match=shown):
        limits_in(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "InstanceTypes",
                    "Volumes",
                    "VolumeId",
                    "Iops",
                    "name",
                    "value",
                    "properties",
                    "EbsInfo",
                    "capabilities",
                ]
            ),
            inner,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_read_or_refused(content: object) -> None:
    with suppress(BenchwrightError):
        limits_in(json.dumps(content), "sda")


def test_limits_are_stored_by_host_and_listed(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.toml"
    file = tmp_path / "type.json"
    file.write_text(json.dumps(TYPE))
    stored = SavedCloudLimits(tmp_path / "cloud-limits.json")
    assert stored.of("web-1") == ()
    assert len(stored.add("web-1", file)) == 6
    file.write_text(json.dumps(VOLUME))
    assert len(stored.add("web-1", file, "nvme1n1")) == 8
    assert len(stored.add("web-1", file, "nvme1n1")) == 8  # in place of the same
    assert stored.of("web-2") == ()
    stored.forget("web-1")
    assert stored.of("web-1") == ()
    (tmp_path / "cloud-limits.json").write_text('{"web-1": [{"name": 1}]}')
    with pytest.raises(HostsError, match="not a file of cloud limits"):
        stored.of("web-1")
    assert not hosts.exists()


def limited(suite: str, figures: dict[str, float], *limits: CloudLimit, host: Facts | None = None, **given: Any) -> str:
    """Return the limiting factor of a trial on a host with these limits."""
    known = replace(host or facts(), cloud_limits=limits)
    shown = LIMITED_BY.evaluate(
        trial(suite, figures, at=READ, host={**DISK, "disk_busy:vda": 99.0}, known=known, **given)
    )
    assert isinstance(shown, CheckOutcome)
    return shown.measured


IOPS = CloudLimit(name="maximum EBS IOPS of m5.large", value=10_300, unit="1/s", instance_type="m5.large")
BASE = CloudLimit(name="baseline EBS IOPS of m5.large", value=3600, unit="1/s", instance_type="m5.large")
VOLUME_IOPS = CloudLimit(name="IOPS of vol-0a1b", value=10_100, unit="1/s", device="vda")


def test_the_verdict_names_the_stated_limit_that_was_used_up() -> None:
    assert limited("fio", FULL, BASE, IOPS, **DEEP) == (MESSAGES["the_maximum_is_used_up"])
    assert MESSAGES["the_volume_is_used_up"] in limited("fio", FULL, IOPS, VOLUME_IOPS, **DEEP)
    throughput = CloudLimit(name="throughput of vol-0a1b", value=42e6, unit="B/s", device="vda")
    assert MESSAGES["the_throughput_is_used_up"] in limited("fio", FULL, throughput, **DEEP)


def test_an_ebs_volume_is_the_disk_with_its_serial_number() -> None:
    """Of several attached volumes, the limit of the one that was measured is named."""
    both = {"Volumes": [{**VOLUME["Volumes"][0], "Iops": 10_100}, {"VolumeId": "vol-0c2d", "Iops": 10_050}]}
    limits = limits_in(json.dumps(both))
    assert [one.disk for one in limits[:1]] == [MESSAGES["by_serial"]]

    def on(serial: str | Absent, *given: CloudLimit) -> str:
        disk = BlockDevice(name="vda", kind="disk", serial=serial)
        return limited("fio", FULL, *given, host=replace(facts(), block_devices=(disk,)), **DEEP)

    assert MESSAGES["the_volume_is_used_up"] in on("vol0a1b", *limits)
    assert "vol-0c2d" in on("vol0c2d", *limits)
    for other in ("vol0e3f", "", Absent("not in /sys")):
        assert "provisioned" not in on(other, *limits)
    assert "provisioned" not in on("vol0a1b", *(replace(one, device="vdb") for one in limits))  # the user's word


def test_each_of_several_volumes_has_its_own_limit_and_the_instance_that_of_the_sum() -> None:
    both = two_volumes()
    limits = [replace(VOLUME_IOPS, name=f"IOPS of {disk}", device=disk, value=6250) for disk in ("vda", "vdb", "vdc")]
    known = replace(both.context.facts or facts(), cloud_limits=(*limits, replace(IOPS, value=10_000)))
    texts = [text for text, _ in stated_use(replace(both, context=Context(known)))]
    assert texts[0].startswith(f"100 % of the {IOPS.name}, ")
    assert [text.partition(",")[0] for text in texts[1:]] == [
        f"80 % of the IOPS of {disk} at {disk}" for disk in ("vda", "vdb")
    ]


def test_limits_follow_a_renamed_host_and_go_with_a_removed_one(tmp_path: Path) -> None:
    file = tmp_path / "type.json"
    file.write_text(json.dumps(TYPE))
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    old, new = (HostEntry(name, Origin.SAVED, "192.0.2.1") for name in ("web-1", "web-2"))
    limits = workstation.cloud_limits
    workstation.save_hosts(old)
    given = limits.add("web-1", file)
    workstation.save_hosts(replace(old, user="ann"))
    assert limits.of("web-1") == given
    replaced = workstation.save_hosts(new, instead=["web-1"])
    assert (limits.of("web-1"), limits.of("web-2")) == ((), given)
    workstation.restore_hosts(*replaced, after=[new])
    assert (limits.of("web-1"), limits.of("web-2")) == (given, ())
    removed = workstation.remove_host("web-1")
    assert limits.of("web-1") == ()
    workstation.restore_hosts(*removed)
    assert limits.of("web-1") == given
    workstation.close()


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    stored = SavedCloudLimits(tmp_path / "cloud-limits.json")
    with ThreadPoolExecutor(8) as threads:
        for number in range(16):
            volume = tmp_path / f"{number}.json"
            volume.write_text(json.dumps({"Volumes": [{"VolumeId": f"vol-{number}", "Iops": 3000}]}))
            threads.submit(stored.add, "web-1", volume)
    assert len(stored.of("web-1")) == 16
    stored.remove("web-1", stored.of("web-1")[:3])
    assert len(stored.of("web-1")) == 13


def test_a_limit_that_was_not_used_up_or_is_of_another_does_not_explain_the_figure() -> None:
    assert "provisioned" not in limited("fio", FULL, BASE, **DEEP)  # 278 % of it: a burst
    below = limited("fio", FULL, replace(IOPS, value=11_500), **DEEP)
    assert "Limited by the device" in below
    assert f"; {MESSAGES['the_share']}, 11.5k/s." in below
    assert "provisioned" not in limited("fio", FULL, replace(VOLUME_IOPS, device="vdb"), **DEEP)
    assert "provisioned" not in limited("fio", FULL, IOPS, **{**DEEP, "direct": False})  # the page cache has no limit
    resized = replace(facts(), cloud=CloudFacts(instance_type="m5.xlarge"))
    assert "provisioned" not in limited("fio", FULL, IOPS, host=resized, **DEEP)
    local = replace(facts(), block_devices=(BlockDevice(name="vda", kind="disk", model=LOCAL_BLOCKS),))
    assert "provisioned" not in limited("fio", FULL, IOPS, host=local, **DEEP)


def test_the_share_of_a_limit_is_told_where_nothing_explains_the_figure() -> None:
    idle = trial("fio", FULL, at=READ, host={**DISK, "disk_busy:vda": 60.0},
                 known=replace(facts(), cloud_limits=(replace(IOPS, value=11_500),)), **DEEP)  # fmt: skip
    shown = LIMITED_BY.evaluate(idle)
    assert isinstance(shown, CheckOutcome)
    assert "Limit not identified" in shown.measured
    assert MESSAGES["the_share"] in shown.measured


def test_stored_facts_have_the_limits() -> None:
    known = replace(facts(), cloud_limits=(IOPS, VOLUME_IOPS))
    assert facts_from_json(json.loads(json.dumps(facts_to_json(known)))) == known
    assert IOPS.name in as_text(fact_rows(known))


def test_the_command_stores_lists_and_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "volume.json"
    file.write_text(json.dumps(VOLUME))
    store = ["hosts", "limits", "web-1", str(file), "--device", "nvme1n1"]
    assert "No host is named web-1" in CliRunner().invoke(benchwright, store).output
    assert "name it" in CliRunner().invoke(benchwright, store[:3] + store[4:]).output
    CliRunner().invoke(benchwright, ["hosts", "add", "web-1"])
    shown = CliRunner().invoke(benchwright, store)
    assert "IOPS of vol-0a1b" in shown.output
    assert "131 MB/s" in shown.output
    assert "vol-0a1b" in CliRunner().invoke(benchwright, ["hosts", "limits", "web-1"]).output
    assert "vol-0a1b" not in CliRunner().invoke(benchwright, ["hosts", "limits", "web-1", "--forget"]).output
