"""What fio's pattern makes of a figure: each finding, its clean twin, and a remedy that mends it."""

from dataclasses import replace

import pytest

from suites.base import complete_values
from suites.checks import StepEvidence
from suites.facts import BlockDevice
from suites.fio.pattern_checks import FIO_PATTERN_CHECKS, in_flight
from suites.fio.suite import Fio
from suites.vocab import Finding, Level
from tests.disk_host import DATA, HOME, disk_host, tuned_step

FIO = Fio()
DISK = BlockDevice(name="nvme0n1", rotational=False, sector=4096, readahead=128 * 1024)


def step(**given: object) -> StepEvidence:
    facts = replace(disk_host(HOME, DATA), block_devices=(DISK,))
    return tuned_step(FIO, facts, directory="/srv", **given)


def said(evidence: StepEvidence) -> dict[str, Finding]:
    found = {check.id: check.finding(evidence) for check in FIO_PATTERN_CHECKS}
    return {name: finding for name, finding in found.items() if isinstance(finding, Finding)}


def mended(evidence: StepEvidence, check: str) -> StepEvidence:
    changes = said(evidence)[check].changes
    assert changes
    return replace(evidence, values=complete_values(FIO, {**evidence.values, **changes}))


BUFFERED = {"rw": "read", "direct": False, "ioengine": "psync", "iodepth": 1, "block_size": "4k"}
ONE = {"rw": "randread", "direct": True, "ioengine": "psync", "iodepth": 1, "numjobs": 1, "block_size": "4k"}


@pytest.mark.parametrize(
    ("check", "level", "given", "words"),
    [
        ("one-io-in-flight", Level.INFO, ONE, "1 job of depth 1."),
        ("readahead-merges", Level.WARNING, BUFFERED, "reads ahead 128 KiB at a time: 32 of fio's I/Os are one"),
        ("throughput-ceiling", Level.INFO, {**ONE, "numjobs": 8, "block_size": "16k"}, "are 164 MB/s"),
        ("unaligned-direct", Level.ERROR, {**ONE, "numjobs": 8, "block_size": "512"}, "no multiple of the 4096 B that"),
    ],
)
def test_each_is_told_and_its_remedy_mends_it(check: str, level: Level, given: dict[str, object], words: str) -> None:
    evidence = step(**given)
    (found,) = said(evidence).values()
    assert (found.id, found.level) == (check, level)
    assert words in found.measured
    assert check not in said(mended(evidence, check))


def test_trials_that_go_to_the_same_blocks_are_told() -> None:
    again = replace(step(**{**ONE, "numjobs": 4, "randrepeat": True}), trials=3)
    assert said(again)["same-blocks-again"].measured == "randrepeat is 1, and there are 3 trials."
    for clean in (mended(again, "same-blocks-again"), replace(again, trials=1), replace(step(rw="read"), trials=3)):
        assert "same-blocks-again" not in said(clean)


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
    assert said(step(**given)) == {}


def test_a_depth_that_has_no_effect_counts_as_one() -> None:
    assert in_flight(step(**{**ONE, "iodepth": 32}).values) == 1
    assert in_flight(step(**{**ONE, "ioengine": "libaio", "iodepth": 32, "numjobs": 2}).values) == 64


def test_where_direct_is_refused_no_remedy_asks_for_it() -> None:
    facts = replace(disk_host(HOME, replace(DATA, direct=False)), block_devices=(DISK,))
    alone = tuned_step(FIO, facts, **{**ONE, "direct": False, "directory": "/srv"})
    assert said(alone)["one-io-in-flight"].changes == {"numjobs": 32}
    assert said(tuned_step(FIO, facts, **{**BUFFERED, "directory": "/srv"}))["readahead-merges"].changes == {}


def test_without_the_disk_the_sector_is_that_of_any_disk() -> None:
    bare = replace(disk_host(HOME, DATA), block_devices=())
    assert said(tuned_step(FIO, bare, **{**ONE, "numjobs": 8, "block_size": "1000"}))["unaligned-direct"].level is (
        Level.ERROR
    )
    assert said(tuned_step(FIO, bare, **{**ONE, "numjobs": 8, "block_size": "512"})) == {}
