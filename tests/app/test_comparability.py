"""What differs between two places is named, weighed, and forbids only where other things were measured."""

from dataclasses import replace

import pytest

from app.comparison.comparability import Profile, Weight, differences, relation
from app.comparison.compare import compare
from app.comparison.comparison import comparison_to_json
from app.comparison.estimates import FEWEST_HOSTS
from app.comparison.verdicts import ComparisonVerdict
from app.plans.plan import Repetition, Step, make_step
from suites.facts import BlockDevice, CloudFacts, CpuFacts, Directory, Facts, MemoryFacts, SystemFacts
from suites.parameters import Value
from tests.app.run_events import STEP, run_record
from tests.messages import messages

MESSAGES = messages("app", "test_comparability")

BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0)
FACTS = Facts(
    host="web-1",
    read_at="",
    system=SystemFacts(kernel="6.1.0", distribution="Debian 12", virtualisation="kvm", boot_id="b-1"),
    cloud=CloudFacts(instance_type="c7i.2xlarge", instance_id="i-1", region="eu-1"),
    cpu=CpuFacts(
        model="Xeon",
        usable=8,
        governor="performance",
        microcode="0xd000390",
        mitigations=("mds: Vulnerable", "l1tf: x"),
    ),
    memory=MemoryFacts(total=16 * 2**30),
    block_devices=(BlockDevice(name="vda", model="gp3", size=100 * 2**30, rotational=False, scheduler="none"),),
    directories=(Directory(path="/var/tmp", kind="ext4", device="vda", writable=True),),
)
FIO = make_step("fio", {"directory": "/var/tmp"}, name="disk")
PROFILE = Profile((FIO,), ("web-1",), frozenset({"fio-3.33"}), (FACTS,), (Repetition(),), frozenset({"0.1.0"}))


def fio(**values: Value) -> Profile:
    return replace(PROFILE, steps=(replace(FIO, values={**FIO.values, **values}),))


def with_facts(facts: Facts) -> Profile:
    return replace(PROFILE, facts=(facts,))


@pytest.mark.parametrize(
    ("ours", "text", "weight"),
    [
        (fio(block_size=16384), "bs 16 KiB against 4 KiB", Weight.FATAL),
        (fio(ioengine="libaio"), "engine: ioengine libaio against psync", Weight.FATAL),
        (fio(directory="/srv"), "directory /srv against /var/tmp", Weight.HARMLESS),
        (replace(PROFILE, versions=frozenset({"fio-3.1"})), "fio 3.1 against 3.33", Weight.FATAL),
        (replace(PROFILE, versions=frozenset()), "fio version unknown on a side", Weight.EXPLAINS),
        (replace(PROFILE, hosts=("web-2",), facts=()), "host web-2 against web-1", Weight.EXPLAINS),
        (replace(PROFILE, programs=frozenset({"0.2.0"})), "Benchwright 0.2.0 against 0.1.0", Weight.HARMLESS),
        (
            replace(PROFILE, repetitions=(Repetition(pause=60),)),
            "pause between trials 1 min against 0 s",
            Weight.EXPLAINS,
        ),
        (replace(PROFILE, repetitions=(Repetition(warm_ups=2),)), "warm-ups 2 against 0", Weight.EXPLAINS),
        (
            with_facts(replace(FACTS, system=replace(FACTS.system, kernel="5.10"))),
            "kernel 5.10 against 6.1.0",
            Weight.EXPLAINS,
        ),
        (
            with_facts(replace(FACTS, cloud=replace(FACTS.cloud, instance_type="m7i.large"))),
            "instance type m7i.large against c7i.2xlarge",
            Weight.EXPLAINS,
        ),
        (
            with_facts(replace(FACTS, cloud=replace(FACTS.cloud, instance_id="i-2"))),
            "instance i-2 against i-1",
            Weight.EXPLAINS,
        ),
        (with_facts(replace(FACTS, cpu=replace(FACTS.cpu, usable=4))), "usable CPUs 4 against 8", Weight.EXPLAINS),
        (
            with_facts(replace(FACTS, memory=MemoryFacts(total=8 * 2**30))),
            "memory 8 GiB against 16 GiB",
            Weight.EXPLAINS,
        ),
        (
            with_facts(replace(FACTS, cpu=replace(FACTS.cpu, microcode="0xd0003a5"))),
            "microcode 0xd0003a5 against 0xd000390",
            Weight.EXPLAINS,
        ),
        (
            with_facts(replace(FACTS, cpu=replace(FACTS.cpu, mitigations=("mds: Mitigation: Clear", "l1tf: x")))),
            "mitigations mds: Mitigation: Clear against mds: Vulnerable",
            Weight.EXPLAINS,
        ),
        (
            replace(with_facts(replace(FACTS, host="web-2", cloud=CloudFacts())), hosts=("web-2",)),
            "host name web-2 against web-1",
            Weight.EXPLAINS,
        ),
        (
            with_facts(replace(FACTS, directories=(replace(FACTS.directories[0], kind="xfs"),))),
            "file system xfs against ext4",
            Weight.EXPLAINS,
        ),
        (
            with_facts(replace(FACTS, block_devices=(replace(FACTS.block_devices[0], model="gp2"),))),
            "device gp2 100 GiB scheduler none against gp3 100 GiB scheduler none",
            Weight.EXPLAINS,
        ),
    ],
)
def test_each_difference_is_named_and_weighed(ours: Profile, text: str, weight: Weight) -> None:
    assert [(found.text, found.weight) for found in differences(ours, PROFILE)] == [(text, weight)]


def test_what_is_alike_or_not_known_on_a_side_is_not_listed() -> None:
    assert differences(PROFILE, PROFILE) == ()
    assert differences(with_facts(Facts(host="web-1", read_at="")), PROFILE) == ()
    assert differences(replace(PROFILE, facts=()), PROFILE) == ()


def test_a_parameter_without_effect_on_one_side_follows_from_another() -> None:
    # Only writes are synchronised: “fsync” comes and goes with the direction.
    assert [found.text for found in differences(fio(rw="randwrite"), fio(rw="randread"))] == [
        MESSAGES["rw_randwrite_against"]
    ]


def test_the_other_end_of_a_network_test_belongs_to_its_figure() -> None:
    one, other = (replace(PROFILE, steps=(make_step("iperf3", {}, peer=peer),)) for peer in ("web-2", "web-3"))
    assert [found.text for found in differences(one, other)] == [MESSAGES["other_end_web_2_against_web"]]


def test_the_gravest_come_first() -> None:
    both = replace(fio(block_size=16384, directory="/srv"), hosts=("web-2",))
    weights = [found.weight for found in differences(both, PROFILE)]
    assert weights == [Weight.FATAL, Weight.EXPLAINS, Weight.HARMLESS]


def test_a_group_that_mixes_what_it_measures_is_caught() -> None:
    mixed = replace(PROFILE, steps=(*PROFILE.steps, *fio(block_size=16384).steps))
    (found,) = differences(mixed, PROFILE)
    assert (found.text, found.weight) == (MESSAGES["block_size_16_kib_and_4_kib"], Weight.FATAL)


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        (PROFILE, "same instance"),
        (with_facts(replace(FACTS, cloud=CloudFacts(instance_id="i-2"))), "other instance"),
        (replace(PROFILE, facts=()), "same host"),
        (replace(PROFILE, facts=(), hosts=("web-2",)), "other host"),
        (replace(PROFILE, hosts=("web-1", "web-2", "web-3")), "3 against 1 host"),
    ],
)
def test_whether_both_are_one_machine_is_said(ours: Profile, words: str) -> None:
    assert relation(ours, PROFILE) == words


# In a comparison


def other_block_size() -> Step:
    return replace(STEP, values={**STEP.values, "block_size": 16384})


def test_what_forbids_can_be_overruled_with_a_reason_that_stands_everywhere() -> None:
    runs = [run_record("a", BASE), run_record("b", tuple(2 * value for value in BASE), step=other_block_size())]
    assert compare(runs).rows[0].against[0].verdict is ComparisonVerdict.NOT_COMPARABLE
    comparison = compare(runs, overruled="the block size is the question")
    against = comparison.rows[0].against[0]
    assert against.verdict is ComparisonVerdict.DIFFERS
    let_by = "overruled (the block size is the question): bs 16 KiB against 4 KiB"
    assert against.text.endswith(let_by)
    assert let_by in against.reason
    assert "Overruled: the block size is the question" in comparison.notes
    (entry,) = comparison_to_json(comparison)
    assert entry["overruled"] == MESSAGES["the_block_size_is_the"]
    assert {"what": "block_size", "run": "16 KiB", "baseline": "4 KiB", "weight": "fatal"} in entry["differences"]


def test_overruling_what_was_never_forbidden_changes_no_verdict() -> None:
    runs = [run_record("a", BASE), run_record("b", BASE[::-1])]
    plain, overruled = compare(runs), compare(runs, overruled="why not")
    assert overruled.rows == plain.rows


def test_the_gate_comes_before_the_figures() -> None:
    from tests.app.run_events import P99

    runs = [run_record("a", BASE), run_record("b", BASE, metric=P99, version="fio-2.0")]
    assert {row.against[0].text for row in compare(runs).rows} == {MESSAGES["not_comparable_fio_2_0"]}


def test_two_names_of_one_machine_in_a_group_are_reported() -> None:
    pair = tuple(replace(FACTS, host=name, cloud=CloudFacts()) for name in ("web-1", "web-2"))
    group = replace(PROFILE, hosts=("web-1", "web-2"), facts=pair)
    other = replace(pair[1], system=replace(pair[1].system, boot_id="b-2"))
    two_machines = replace(group, facts=(pair[0], other))
    found = {difference.what: difference for difference in differences(group, two_machines)}
    assert "web-1 = web-2" in found["one machine"].text
    assert differences(two_machines, two_machines) == ()


def test_only_sides_of_fewer_than_three_hosts_are_asked_for_three() -> None:
    def advice(count: int) -> str:
        sides = [replace(PROFILE, hosts=tuple(f"{name}-{number}" for number in range(count))) for name in "ab"]
        return next(one.why for one in differences(*sides) if one.what == "host")

    assert str(FEWEST_HOSTS) in advice(2)
    assert str(FEWEST_HOSTS) not in advice(3)


def test_a_mix_of_versions_that_both_sides_have_is_named_once() -> None:
    mixed = replace(PROFILE, versions=frozenset({"fio-3.28", "fio-3.33"}))
    (found,) = [one for one in differences(mixed, mixed) if one.weight is Weight.FATAL]
    assert found.text.count("3.28") == 1
