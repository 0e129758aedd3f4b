"""What fio's pattern makes of a figure: each finding, its clean twin, and a remedy that mends it."""

import re
from dataclasses import replace

import pytest

from suites.base import StepEvidence, complete_values
from suites.facts import BlockDevice
from suites.fio.parameters import in_flight
from suites.fio.pattern_checks import FIO_PATTERN_CHECKS
from suites.fio.suite import Fio
from suites.registry import SUITES
from suites.vocab import Finding, Severity
from tests.disk_host import DATA, HOME, disk_host, tuned_step
from tests.messages import messages

MESSAGES = messages("suites", "test_fio_pattern")

FIO = Fio()
DISK = BlockDevice(name="nvme0n1", rotational=False, sector=4096, readahead=128 * 1024)


def step(**given: object) -> StepEvidence:
    facts = replace(disk_host(HOME, DATA), block_devices=(DISK,))
    return tuned_step(FIO, facts, directory="/srv", **given)


def shown(evidence: StepEvidence) -> dict[str, Finding]:
    found = {check.id: check.finding(evidence) for check in FIO_PATTERN_CHECKS}
    return {name: finding for name, finding in found.items() if isinstance(finding, Finding)}


def remedied(evidence: StepEvidence, check: str) -> StepEvidence:
    changes = shown(evidence)[check].changes
    assert changes
    return replace(evidence, values=complete_values(FIO, {**evidence.values, **changes}))


BUFFERED = {"rw": "read", "direct": False, "ioengine": "psync", "iodepth": 1, "block_size": "4k"}
ONE = {"rw": "randread", "direct": True, "ioengine": "psync", "iodepth": 1, "numjobs": 1, "block_size": "4k"}


@pytest.mark.parametrize(
    ("check", "level", "given", "words"),
    [
        ("one-io-in-flight", Severity.INFO, ONE, "numjobs=1, iodepth=1."),
        ("readahead-merges", Severity.WARNING, BUFFERED, "is 128 KiB: 32 I/Os of fio are one"),
        ("throughput-ceiling", Severity.INFO, {**ONE, "numjobs": 8, "block_size": "16k"}, "are 164 MB/s"),
        (
            "unaligned-direct",
            Severity.ERROR,
            {**ONE, "numjobs": 8, "block_size": "512"},
            "not a multiple of the 4096 B sector",
        ),
    ],
)
def test_each_is_told_and_its_remedy_mends_it(
    check: str, level: Severity, given: dict[str, object], words: str
) -> None:
    evidence = step(**given)
    (found,) = shown(evidence).values()
    assert (found.id, found.severity) == (check, level)
    assert words in found.measured
    assert check not in shown(remedied(evidence, check))


def test_trials_that_go_to_the_same_blocks_are_told() -> None:
    again = replace(step(**{**ONE, "numjobs": 4, "randrepeat": True}), trials=3)
    assert shown(again)["same-blocks-again"].measured == MESSAGES["randrepeat_is_1_and_there"]
    for clean in (remedied(again, "same-blocks-again"), replace(again, trials=1), replace(step(rw="read"), trials=3)):
        assert "same-blocks-again" not in shown(clean)


@pytest.mark.parametrize(
    "given",
    [
        {**ONE, "numjobs": 4},
        {**ONE, "ioengine": "libaio", "iodepth": 32},
        {**ONE, "rate_iops": 100},  # latency at a given load
        {**BUFFERED, "block_size": "1m"},
        {**BUFFERED, "direct": True},
        {**BUFFERED, "direct": True, "block_size": "64k"},
        {**ONE, "numjobs": 8, "block_size": "8k"},
    ],
)
def test_the_clean_twin_draws_nothing(given: dict[str, object]) -> None:
    assert shown(step(**given)) == {}


def test_a_depth_that_has_no_effect_counts_as_one() -> None:
    assert in_flight(step(**{**ONE, "iodepth": 32}).values) == 1
    assert in_flight(step(**{**ONE, "ioengine": "libaio", "iodepth": 32, "numjobs": 2}).values) == 64


def test_where_direct_is_refused_no_remedy_asks_for_it() -> None:
    facts = replace(disk_host(HOME, replace(DATA, direct=False)), block_devices=(DISK,))
    alone = tuned_step(FIO, facts, **{**ONE, "direct": False, "directory": "/srv"})
    assert shown(alone)["one-io-in-flight"].changes == {"numjobs": 32}
    assert shown(tuned_step(FIO, facts, **{**BUFFERED, "directory": "/srv"}))["readahead-merges"].changes == {}


def test_without_the_disk_the_sector_is_that_of_any_disk() -> None:
    bare = replace(disk_host(HOME, DATA), block_devices=())
    assert shown(tuned_step(FIO, bare, **{**ONE, "numjobs": 8, "block_size": "1000"}))["unaligned-direct"].severity is (
        Severity.ERROR
    )
    assert shown(tuned_step(FIO, bare, **{**ONE, "numjobs": 8, "block_size": "512"})) == {}


def test_figures_of_other_hosts_are_labelled_as_examples() -> None:
    checks = [check for suite in SUITES for check in suite.checks]
    measured = re.compile(r"\d[\d,.]* (?:IOPS|[MG]B/s|I/Os)")
    unlabelled = {check.id for check in checks if measured.search(check.why) and "Example" not in check.why}
    assert unlabelled == set()
