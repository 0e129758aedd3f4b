"""dd as a suite: commands, tuning, estimate and its own checks."""

import shlex
from dataclasses import replace

import pytest

from suites.base import Context, Purpose, StepCheck, complete_values, tuned_values
from suites.checks import CheckOutcome, NotChecked
from suites.dd.suite import Dd
from suites.errors import ParameterError
from suites.facts import Absent
from suites.fio.suite import Fio
from suites.vocab import Severity
from tests.disk_host import DATA, GIB, MIB, changes, disk_host, measured, outcomes, tuned_step
from tests.messages import messages

MESSAGES = messages("suites", "test_dd")

DD = Dd()
REFUSING = replace(DATA, direct=False)


def lines(**given: object) -> list[tuple[Purpose, str]]:
    commands = DD.commands(complete_values(DD, given), Context())
    return [(command.purpose, shlex.join(command.argv)) for command in commands]


def check(name: str) -> StepCheck:
    (found,) = [check for check in DD.checks if check.id == name]
    return found


def test_defaults_are_what_everybody_types() -> None:
    assert lines() == [(Purpose.MEASURE, MESSAGES["dd_if_dev_zero_of"])]


@pytest.mark.parametrize(
    ("flush", "words"),
    [("none", ""), ("fdatasync", " conv=fdatasync"), ("direct", " oflag=direct"), ("dsync", " oflag=dsync")],
)
def test_writes_are_flushed_as_asked(flush: str, words: str) -> None:
    ((_purpose, line),) = lines(flush=flush, block_size="1 MiB", count=64, read="direct")
    assert line == f"dd if=/dev/zero of=benchwright.dat bs=1M count=64{words} status=progress"


def test_random_bytes_come_in_whole_blocks() -> None:
    ((_purpose, line),) = lines(input="/dev/urandom", block_size="64 MiB", count=2)
    assert line == MESSAGES["dd_if_dev_urandom_of"]


def test_a_file_is_written_and_flushed_before_it_is_read_back() -> None:
    assert lines(input="file", block_size="4 KiB", count=1000, read="direct", flush="dsync") == [
        (Purpose.PREPARE, MESSAGES["dd_if_dev_urandom_of_2"]),
        (Purpose.MEASURE, MESSAGES["dd_if_benchwright_dat_of_dev"]),
    ]


@pytest.mark.parametrize(("name", "value"), [("input", "/etc/passwd"), ("count", 0), ("flush", "sync"), ("size", 1)])
def test_values_out_of_bounds_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(DD, {name: value})


def test_estimate_knows_the_bytes_and_not_the_time() -> None:
    estimate = DD.estimate(complete_values(DD, {"block_size": MIB, "count": 100}), Context())
    assert (estimate.duration, estimate.written, estimate.space) == (None, 100 * MIB, 100 * MIB)


def test_tuning_follows_the_facts() -> None:
    values = tuned_values(DD, Context(disk_host()))
    assert (values["directory"], values["block_size"], values["count"]) == ("/srv", MIB, 4096)
    assert (values["flush"], values["read"]) == ("direct", "direct")
    refusing = tuned_values(DD, Context(disk_host(replace(REFUSING, free=8 * GIB))))
    assert (refusing["flush"], refusing["read"], refusing["count"]) == ("fdatasync", "cached", 1024)
    assert set(DD.tune(Context())) == {"block_size"}


def test_a_prepared_source_is_written_once_and_copied() -> None:
    assert lines(input="prepared", block_size="1 MiB", count=64, flush="direct") == [
        (Purpose.PREPARE, MESSAGES["prepared_source"]),
        (Purpose.MEASURE, MESSAGES["prepared_copy"]),
    ]
    estimate = DD.estimate(complete_values(DD, {"input": "prepared", "block_size": MIB, "count": 100}), Context())
    assert (estimate.written, estimate.prepared, estimate.space) == (100 * MIB, 100 * MIB, 200 * MIB)


def test_the_tuned_source_is_prepared_and_fits_into_a_quarter_of_memory() -> None:
    tuned = DD.tune(Context(disk_host()))
    assert tuned["input"].value == "prepared"
    assert MESSAGES["prepared_reason"] in tuned["input"].why
    facts = disk_host()
    small = replace(facts, memory=replace(facts.memory, total=2 * GIB))
    count = DD.tune(Context(small))["count"]
    assert count.value == 512
    assert MESSAGES["a_quarter"] in count.why
    step = tuned_step(DD, small, count=1025)
    assert measured(step, "uncached-source") == MESSAGES["uncached_source"]
    assert changes(step, "uncached-source") == {"count": 512}
    assert "uncached-source" not in outcomes(tuned_step(DD, small, count=1024))


def test_the_tuned_step_raises_nothing() -> None:
    assert outcomes(tuned_step(DD)) == {}
    assert outcomes(tuned_step(DD, input="file")) == {}


def test_the_default_step_is_warned_of_in_every_way() -> None:
    step = tuned_step(DD, block_size=512, count=1024, flush="none")
    shown = set(outcomes(step))
    assert shown == {"page-cache", "unflushed-write", "short-runtime", "small-blocks"}


def test_the_offered_changes_mend_the_default_step() -> None:
    step = tuned_step(DD, block_size=512, count=1024, flush="none")
    for name in ("page-cache", "small-blocks"):
        step = replace(step, values=complete_values(DD, {**step.values, **changes(step, name)}))
    assert outcomes(step) == {}


def test_unflushed_writes_are_warned_of_whatever_their_size() -> None:
    step = tuned_step(DD, flush="none", count=80 * 1024)
    assert MESSAGES["80_gib_are_written_with"] in measured(step, "unflushed-write")
    assert changes(step, "unflushed-write") == {"flush": "fdatasync"}
    assert "page-cache" not in outcomes(step)


def test_reading_what_was_just_written_is_warned_of() -> None:
    step = tuned_step(DD, input="file", read="cached")
    assert MESSAGES["the_4_gib_are_read_right"] in measured(step, "read-after-write")
    assert changes(step, "read-after-write") == {"read": "direct"}
    assert changes(step, "page-cache") == {"read": "direct"}
    assert "read-after-write" not in outcomes(tuned_step(DD, input="file", read="cached", count=64 * 1024))


def test_steps_that_wrote_before_are_named() -> None:
    writer = replace(tuned_step(Fio(), rw="write"), name="fill")
    step = replace(tuned_step(DD, input="file", read="cached"), earlier=(writer,))
    assert "fill" in measured(step, "read-after-write")


def test_where_direct_io_is_refused_another_way_past_memory_is_offered() -> None:
    writing = tuned_step(DD, disk_host(REFUSING), flush="none")
    assert changes(writing, "page-cache") == {"flush": "fdatasync"}
    reading = tuned_step(DD, disk_host(REFUSING), input="file", read="cached")
    assert changes(reading, "read-after-write") == {}


def test_a_copy_of_less_than_a_second_is_warned_of() -> None:
    step = tuned_step(DD, count=100)
    assert MESSAGES["100_mib_take_0_1_s_at_the_1"] in measured(step, "short-runtime")
    assert int(str(changes(step, "short-runtime")["count"])) * MIB >= 4e9
    assert "short-runtime" not in outcomes(tuned_step(DD, count=1000))
    assert "short-runtime" not in outcomes(tuned_step(DD, count=250, directory="/home/ann"))  # a rotating disk
    assert "short-runtime" not in outcomes(tuned_step(DD, flush="dsync", block_size="4 KiB", count=2000))


def test_a_random_source_is_warned_of_with_its_measured_rate() -> None:
    step = tuned_step(DD, input="/dev/urandom")
    assert "/dev/urandom delivers 460 MB/s on this host (measured)" in measured(step, "random-source")
    assert changes(step, "random-source") == {"input": "prepared"}
    unknown = tuned_step(DD, disk_host(urandom=None), input="/dev/urandom")
    assert "was not measured" in measured(unknown, "random-source")
    assert "random-source" not in outcomes(tuned_step(DD))


def test_a_random_source_twice_as_fast_as_the_disk_is_only_mentioned() -> None:
    slow = outcomes(tuned_step(DD, input="/dev/urandom", directory="/home/ann"))["random-source"]
    assert isinstance(slow, CheckOutcome)
    assert slow.severity is Severity.INFO


def test_refused_direct_io_is_an_error_only_where_it_is_asked_for() -> None:
    step = tuned_step(DD, disk_host(REFUSING), flush="direct")
    assert check("direct-refused").severity is Severity.ERROR
    assert changes(step, "direct-refused") == {"flush": "fdatasync", "read": "cached"}
    assert "direct-refused" not in outcomes(tuned_step(DD, disk_host(REFUSING), flush="fdatasync", read="direct"))
    untried = tuned_step(DD, disk_host(replace(DATA, direct=Absent("not tried"))), flush="direct")
    assert isinstance(outcomes(untried)["direct-refused"], NotChecked)


def test_unknown_memory_is_not_judged() -> None:
    facts = disk_host()
    facts = replace(facts, memory=replace(facts.memory, total=Absent("no /proc"), limit=Absent("no cgroup")))
    shown = outcomes(tuned_step(DD, facts, input="file", read="cached"))
    assert isinstance(shown["page-cache"], NotChecked)
    assert isinstance(shown["read-after-write"], NotChecked)
