"""What differs within a group of hosts: the usual value, who departs, and what was not read is no difference."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.fleet.sameness import ALL_GROUPS, GroupSameness, sameness_of
from app.fleet.sameness_report import (
    departure_rows,
    fact_value_rows,
    sameness_rows,
    sameness_to_json,
    summary_text,
    unread_lines,
    value_texts,
)
from app.host_attributes import HostAttributes
from suites.facts import (
    NO_CPU_LIMIT,
    Absent,
    BlockDevice,
    CloudFacts,
    Core,
    CpuFacts,
    Facts,
    FileSystem,
    Interface,
    MemoryFacts,
    ProbeMeasurements,
    SystemFacts,
    Tool,
)
from tests.lab_sshd import LabHost
from tests.printed_json import errors

UUID = "0a1b2c3d-0000-4000-8000-0123456789ab"


def facts(host: str, number: int = 0, *, kernel: str = "6.1", fio: str | Absent = "fio-3.33") -> Facts:
    """Return the facts of a host; `number` gives it an identity of its own."""
    return Facts(
        host=host,
        read_at=f"2026-11-30T08:00:{number:02d}+00:00",
        system=SystemFacts(
            host_name=host, kernel=kernel, boot_id=f"boot-{number}", uptime=float(number), load_1_minute=float(number),
            command_line=f"BOOT_IMAGE=/vmlinuz-{number} root=UUID={UUID[:-2]}{number:02d} quiet",
            workstation_address=f"192.0.2.{number}", clock_offset=float(number),
        ),
        cloud=CloudFacts(provider="aws", instance_type="c5.large", instance_id=f"i-{number}"),
        cpu=CpuFacts(
            model="Xeon", microcode="0x1", mitigations=("mds: Mitigation", "srbds: Not affected"),
            layout=(Core(cpus=(0,), node=0, package=0), Core(cpus=(1,), node=0, package=0)),
        ),
        memory=MemoryFacts(total=8 << 30, available=number << 20, swap_used=number),
        measured=ProbeMeasurements(urandom_rate=float(number + 1), watched=0.3),
        block_devices=(BlockDevice(name="vda", scheduler="none", serial=f"vol-{number}"),),
        file_systems=(FileSystem(mount="/", kind="ext4", options=f"rw,size={number}k,relatime", free=number),),
        interfaces=(Interface(name="eth0", mtu=9001, addresses=(f"10.0.0.{number}",)),),
        tools=(Tool(name="fio", version=fio, path=f"/usr/bin/{number}", start_up=float(number)),),
    )  # fmt: skip


def group(*hosts: Facts) -> GroupSameness:
    (found,) = sameness_of({"c5": {one.host: one for one in hosts}})
    return found


def web(number: int) -> Facts:
    return facts(f"web-{number}", number)


def test_what_always_differs_does_not_count() -> None:
    found = group(*(web(number) for number in range(12)))
    assert (found.differing, found.unread, found.departures) == ((), (), ())
    assert found.hosts[-1] == "web-11"
    assert "no fact differs" in summary_text(found)


def test_the_odd_host_is_first() -> None:
    odd = facts("web-7", 7, kernel="6.5")
    odd = replace(odd, cpu=replace(odd.cpu, microcode="0x2", mitigations=("mds: Vulnerable", "srbds: Not affected")))
    other = facts("web-8", 8, kernel="6.5")
    found = group(*map(web, range(7)), odd, other)
    assert [fact.title for fact in found.differing] == [
        "System · Kernel", "CPU · Microcode", "CPU · Mitigations · mds",
    ]  # fmt: skip
    kernel = found.differing[0]
    assert kernel.usual == "6.1"
    assert [(value.text, value.hosts[:2]) for value in kernel.values] == [
        ("6.1", ("web-0", "web-1")), ("6.5", ("web-7", "web-8")),
    ]  # fmt: skip
    assert [(one.host, len(one.facts)) for one in found.departures] == [("web-7", 3), ("web-8", 1)]
    assert found.departures[0].score == pytest.approx(7 / 9 + 8 / 9 + 8 / 9)
    assert "web-7" in summary_text(found)
    assert departure_rows(found, 1)[0][:2] == ["web-7", "3"]
    assert fact_value_rows(found)[0] == ["System · Kernel", "6.1", "7", "web-0, web-1, web-2 and 4 more"]


def test_the_rarer_value_departs_more() -> None:
    hosts = [facts(f"web-{n}", n, kernel=kernel) for n, kernel in enumerate(["a"] * 5 + ["b"] * 3 + ["c"])]
    assert [one.host for one in group(*hosts).departures] == ["web-8", "web-5", "web-6", "web-7"]


def test_without_a_majority_no_value_is_usual() -> None:
    found = group(facts("a", 1, kernel="6.1"), facts("b", 2, kernel="6.5"))
    assert found.differing[0].usual is None
    assert [(one.host, one.score) for one in found.departures] == [("a", 0.5), ("b", 0.5)]
    assert "odd" not in summary_text(found)


def test_a_limit_that_others_do_not_have_differs() -> None:
    hosts = [web(number) for number in range(1, 4)]
    free = [replace(one, cpu=replace(one.cpu, quota=NO_CPU_LIMIT)) for one in hosts]
    limited = replace(free[0], cpu=replace(free[0].cpu, quota=0.15))
    found = group(limited, *free[1:])
    (fact,) = (one for one in found.differing if "quota" in one.title)
    assert fact.usual == NO_CPU_LIMIT.reason
    assert [value.hosts for value in fact.values] == [("web-2", "web-3"), ("web-1",)]
    assert not group(*free).differing
    assert not [one for one in group(*free).unread if "quota" in one.title]


def test_an_absent_fact_is_not_read_and_never_differs() -> None:
    without = facts("web-3", 3, fio=Absent("not installed"))
    no_cloud = replace(facts("web-4", 4), cloud=CloudFacts())
    found = group(web(1), web(2), without, no_cloud)
    assert found.differing == ()
    assert {(one.title, one.reasons[0].hosts) for one in found.unread} == {
        ("Tools · fio · Version", ("web-3",)), ("Cloud", ("web-4",)),
    }  # fmt: skip
    assert any("not installed (web-3)" in line for line in unread_lines(found))


def test_facts_of_one_part_that_the_same_hosts_lack_are_one_line() -> None:
    tools = tuple(Tool(name=name, version="1", engines=("a",)) for name in ("fio", "dd"))
    absent = tuple(Tool(name=name, version=Absent("broken"), engines=Absent("broken")) for name in ("fio", "dd"))
    no_cpu = CpuFacts(model="Xeon", governor=Absent("no cpufreq"), boost=Absent("no cpufreq"))
    has_cpu = CpuFacts(model="Xeon", governor="performance", boost=True)
    found = group(
        replace(web(1), tools=tools, cpu=has_cpu), replace(web(2), tools=tuple(
            replace(one, path="/usr/bin/x") for one in absent), cpu=no_cpu),
    )  # fmt: skip
    assert [one.title for one in found.unread] == ["CPU · Governor", "CPU · Boost", "Tools · fio", "Tools · dd"]


def test_a_device_that_some_hosts_lack_differs_once() -> None:
    more = facts("web-3", 3)
    extra = BlockDevice(name="vdb", scheduler="none", size=1 << 30, model="EBS")
    found = group(web(1), web(2), replace(more, block_devices=(*more.block_devices, extra)))
    assert [(fact.title, fact.usual) for fact in found.differing] == [("Block devices · vdb", "missing")]
    assert found.departures[0].host == "web-3"


def test_cores_are_one_fact() -> None:
    other = facts("web-3", 3)
    layout = tuple(Core(cpus=(cpu,), node=cpu, package=cpu) for cpu in (0, 1))
    found = group(web(1), web(2), replace(other, cpu=replace(other.cpu, layout=layout)))
    assert [fact.title for fact in found.differing] == ["CPU · Usable cores"]


def test_attributes_of_the_inventory_are_compared() -> None:
    stated = {"web-1": HostAttributes(image="ami-1"), "web-2": HostAttributes(image="ami-2")}
    (found,) = sameness_of({"c5": {"web-1": web(1), "web-2": web(2), "web-3": web(3)}}, stated)
    assert [fact.title for fact in found.differing] == ["Inventory · Image"]


def test_names_of_one_machine_are_reported_also_across_groups() -> None:
    same = replace(web(1), host="alias")
    groups = {"a": {"web-1": web(1), "web-2": web(2)}, "b": {"alias": same}, "c": {"web-3": web(3)}}
    found = sameness_of(groups)
    assert [one.machines for one in found] == [(("alias", "web-1"),), (("alias", "web-1"),), ()]
    texts = [summary_text(one) for one in found]
    assert ["alias and web-1" in text for text in texts] == [True, True, False]
    assert sameness_to_json(found, {})["groups"][0]["one_machine"] == [["alias", "web-1"]]
    unread = replace(same, system=replace(same.system, boot_id=Absent("permission denied")))
    assert sameness_of({"a": {"web-1": web(1), "alias": unread}})[0].machines == ()


def test_groups_are_compared_across_where_asked() -> None:
    groups = {"a": {"web-1": web(1)}, "b": {"web-2": facts("web-2", 2, kernel="6.5")}}
    assert [len(one.differing) for one in sameness_of(groups)] == [0, 0]
    *_, whole = sameness_of(groups, across=True)
    assert (whole.name, [fact.title for fact in whole.differing]) == (ALL_GROUPS, ["System · Kernel"])
    assert "nothing to compare" in summary_text(sameness_of(groups)[0])
    assert sameness_of({"none": {}})[0].differing == ()


def test_of_long_values_the_common_words_are_left_out() -> None:
    common = " ".join(f"option{number}=1" for number in range(40))
    hosts = [web(1), web(2), web(3)]
    lines = (common, common, f"{common} mitigations=off")
    made = [replace(one, system=replace(one.system, command_line=line)) for one, line in zip(hosts, lines, strict=True)]
    found = group(*made)
    assert value_texts(found.differing[0]) == ["…", "… mitigations=off"]


def test_the_json_and_the_rows_name_every_host() -> None:
    found = group(web(1), web(2), facts("web-3", 3, kernel="6.5"))
    content = sameness_to_json([found], {"web-4": "refused"})
    assert not errors("sameness", json.loads(json.dumps(content)))
    assert content["groups"][0]["departures"][0]["host"] == "web-3"
    assert [(row["host"], row["value"], row["departs"]) for row in sameness_rows([found])] == [
        ("web-1", "6.1", "no"), ("web-2", "6.1", "no"), ("web-3", "6.5", "yes"),
    ]  # fmt: skip


@pytest.mark.lab
def test_the_verb_reads_a_group_and_reports_the_host_that_fails(lab_host: LabHost, tmp_path: Path) -> None:
    for name in ("web-1", "web-2", "db-1"):
        lab_host.add_to_home(name)
    with (Path.home() / ".ssh" / "config").open("a") as config:
        config.write("Host db-2\n  HostName 127.0.0.1\n  Port 1\n")
    call = ["--store", str(tmp_path / "runs.sqlite3")]
    runner = CliRunner()
    assert runner.invoke(benchwright, [*call, "inventory", "set", "web-2", "--image", "ami-2"]).exit_code == 0
    assert runner.invoke(benchwright, [*call, "inventory", "set", "web-1", "--image", "ami-1"]).exit_code == 0
    rows = tmp_path / "rows.csv"
    ran = runner.invoke(benchwright, [*call, "sameness", "web-*", "db:=db-1,db-2", "--csv", str(rows)])
    assert (ran.exit_code, "db-2 was not read" in ran.stderr) == (1, True)
    assert "Inventory · Image" in ran.stdout
    with rows.open() as file:
        assert {row["host"] for row in csv.DictReader(file)} == {"web-1", "web-2"}
    content = json.loads(runner.invoke(benchwright, [*call, "sameness", "web-*", "--json"]).stdout)
    assert not errors("sameness", content)
    assert content["problems"] == {}
    assert [fact["fact"] for fact in content["groups"][0]["differing"]] == ["Inventory · Image"]
    assert not (tmp_path / "runs.sqlite3").exists()
