"""pg_test_fsync as a suite: its command, its estimate, its check, and what is read of its output."""

import shlex

import pytest

from suites.base import Context, complete_values, tuned_values
from suites.errors import ParameterError
from suites.outputs import ParsedTrial
from suites.pg_test_fsync import PgTestFsync, PgTestFsyncParser
from tests.disk_host import changes, disk_host, outcomes, tuned_step
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures

MESSAGES = messages("suites", "test_pg_test_fsync")
SUITE = PgTestFsync()

OPEN_DATASYNC = "sync_rate open_datasync one write"


def parsed(name: str) -> ParsedTrial:
    return capture(f"pg-test-fsync/15.18/{name}").parse(PgTestFsyncParser())


def test_the_command_is_what_an_expert_types() -> None:
    (command,) = SUITE.commands(complete_values(SUITE, {}), Context())
    assert shlex.join(command.argv) == MESSAGES["the_command"]
    with pytest.raises(ParameterError, match="seconds"):
        complete_values(SUITE, {"seconds": 0})


def test_the_estimate_counts_every_method() -> None:
    assert SUITE.estimate(complete_values(SUITE, {"seconds": 2}), Context()).duration == 32


def test_tuning_chooses_the_directory_and_short_tests_are_warned_of() -> None:
    assert tuned_values(SUITE, Context(disk_host()))["directory"] == "/srv"
    assert outcomes(tuned_step(SUITE)) == {}
    assert changes(tuned_step(SUITE, seconds=1), "pg-test-fsync-short") == {"seconds": 5}


def test_fdatasync_leads_and_each_method_is_labelled() -> None:
    found = parsed("disk")
    numbers = figures(found)
    assert found.complete
    assert found.notes == ()
    assert found.figures[0].metric == SUITE.metrics[0]
    assert (numbers["fdatasync_rate"], numbers["fdatasync_time"]) == (2551.263, 392)
    assert numbers[OPEN_DATASYNC] == 3713.868
    assert numbers["sync_time open_sync one write"] == 278
    assert len([name for name in numbers if name.startswith("sync_rate")]) == 16


@pytest.mark.parametrize(("version", "rate"), [("13.16", 140.758), ("17.12", 149.619)])
def test_other_versions_quote_and_space_otherwise(version: str, rate: float) -> None:
    found = capture(f"pg-test-fsync/{version}/disk").parse(PgTestFsyncParser())
    assert found.complete
    assert figures(found)["fdatasync_rate"] == rate
    assert len([name for name in figures(found) if name.startswith("sync_rate")]) == 16


def test_a_method_that_is_refused_has_no_figure() -> None:
    whole = capture("pg-test-fsync/15.18/disk").stdout
    assert not any("writethrough" in name for name in figures(parsed("disk")))
    parser = PgTestFsyncParser()
    parser.feed(whole.replace(b" 3713.868 ops/sec     269 usecs/op", b"                      n/a*", 1))
    found = parser.finish(0)
    assert found.complete
    assert OPEN_DATASYNC not in figures(found)


@pytest.mark.parametrize(("name", "words"), [("missing", MESSAGES["could_not_open"]), ("sigterm", "not all methods")])
def test_what_failed_or_was_cut_off_says_so(name: str, words: str) -> None:
    found = parsed(name)
    assert not found.complete
    assert words in found.notes[0]


def test_an_output_cut_anywhere_is_never_complete_nor_wrong() -> None:
    data, truth = capture("pg-test-fsync/15.18/disk").stdout.rstrip(), figures(parsed("disk"))
    for length in range(0, len(data), 7):
        parser = PgTestFsyncParser()
        parser.feed(data[:length])
        found = parser.finish(0)
        assert not found.complete
        assert figures(found).items() <= truth.items()
