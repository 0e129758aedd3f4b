"""A second opinion asks the same as far as it can be said, and explains by closed rules what comes of it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.comparing.intervals import FEWEST_TRIALS
from app.events import State
from app.opinion.agreement import Agreement, Outcome, agreements
from app.opinion.kin import Kin
from app.opinion.kinship import PAIRS, kin_of
from app.opinion.proposing import OpinionError, propose
from app.opinion.reasons import COUNTING, RULES, Asked, Favours, counting, reasons
from app.opinion.to_json import agreement_to_json, proposal_to_json
from app.opinion.traits import Traits, traits_of
from app.opinion.words import UNKNOWN, agreement_line, proposal_lines, why_lines
from app.plans.plan import Order, Step, make_step, validate
from app.records import RunRecord, TrialRecord
from suites.registry import suite as find_suite
from suites.vocab import Figure, Kind, Labels, labels
from tests.app.recorded import run_record, trial

BOTH_WAYS = [way for kin in PAIRS for way in (kin, kin.turned())]


def a_run(*steps: Step) -> RunRecord:
    record = run_record("20261120-141530-k3f9", (1.0,))
    return replace(record, plan=replace(record.plan, steps=steps), trials=())


def measured(*sides: tuple[Step, str, Labels, Sequence[float]]) -> RunRecord:
    """Return a run of steps, each with the values of one metric over its trials."""
    record = a_run(*(step for step, *_ in sides))
    trials: list[TrialRecord] = []
    for step, metric, at, values in sides:
        found = next(one for one in step.suite.metrics if one.name == metric)
        for number, value in enumerate(values, 1):
            ran = replace(trial(len(trials) + 1), step=step.name, number=number, host=record.plan.hosts[0])
            trials.append(TrialRecord(ran, State.DONE, None, 0, (Figure(found, value, at),)))
    return replace(record, trials=tuple(trials))


def only(record: RunRecord, margin: float | None = None) -> Agreement:
    (found,) = agreements(record, margin)
    return found


# The table


@pytest.mark.parametrize("kin", BOTH_WAYS, ids=lambda kin: f"{kin.suite}-{kin.other}")
def test_the_table_names_what_the_suites_have(kin: Kin) -> None:
    ours, theirs = find_suite(kin.suite), find_suite(kin.other)
    mine, other = ({one.name for one in suite.parameters} for suite in (ours, theirs))
    assert {one.ours for one in kin.carries} | {name for name, _ in kin.fixed_back} <= mine
    assert {one.theirs for one in kin.carries} | {name for name, _ in kin.fixed} <= other
    assert {name for match in kin.matches for name in match.ours} <= {one.name for one in ours.metrics}
    assert {name for match in kin.matches for name in match.theirs} <= {one.name for one in theirs.metrics}
    assert kin.matches


@pytest.mark.parametrize("kin", BOTH_WAYS, ids=lambda kin: f"{kin.suite}-{kin.other}")
def test_every_suite_untold_can_be_checked_and_its_plan_runs(kin: Kin) -> None:
    found = propose(a_run(make_step(kin.suite, {})), other=kin.other)
    assert validate(found.plan).steps[1].suite_id == kin.other
    assert (found.plan.order, found.plan.repetition.trials) == (Order.RANDOMISED, FEWEST_TRIALS)
    assert found.plan.question.endswith("agree?")
    traits = traits_of(found.plan.steps[1], None)
    assert kin.apart or traits != Traits()
    assert list(proposal_lines(found))
    assert proposal_to_json(found)["other"] == kin.other


def test_each_pair_stands_in_the_table_once() -> None:
    pairs = [frozenset({kin.suite, kin.other}) for kin in PAIRS]
    assert len(set(pairs)) == len(pairs)
    assert set(COUNTING) <= set(pairs)
    assert {kin.other for kin in kin_of("stream")} == {"sysbench-memory", "stress-ng", "memory-blocks"}


# Before


def test_a_sequential_write_is_checked_with_dd_and_what_dd_has_not_is_said() -> None:
    given = {
        "rw": "write",
        "block_size": "1 MiB",
        "size": "64 MiB",
        "direct": "yes",
        "iodepth": 8,
        "ioengine": "libaio",
    }
    found = propose(a_run(make_step("fio", given, name="w")), other="dd")
    values = found.plan.steps[1].values
    assert (values["input"], values["flush"], values["count"], values["block_size"]) == (
        "/dev/zero", "direct", 64, 2**20,
    )  # fmt: skip
    assert [line.partition(" cannot")[0] for line in found.lost] == ["Queue depth 8", "Engine libaio"]


def test_a_random_read_is_not_checked_with_dd_which_knows_none() -> None:
    asked = make_step("fio", {"rw": "randread", "direct": "yes", "runtime": "10 s"}, name="r")
    assert propose(a_run(asked)).kin.other == "sysbench-fileio"
    forced = propose(a_run(asked), other="dd")
    assert any(line.startswith("Operation randread") or "randread cannot be carried" in line for line in forced.lost)


def test_iperf3_untold_writes_128_kib_and_so_does_the_probe() -> None:
    found = propose(a_run(make_step("iperf3", {"streams": 4, "direction": "receive"}, peer="db-1")))
    values = found.plan.steps[1].values
    assert (values["buffers"], values["threads"], values["tests"], found.plan.steps[1].peer) == (
        "128 KiB", 4, "download", "db-1",
    )  # fmt: skip


def test_what_nothing_checks_is_refused() -> None:
    with pytest.raises(OpinionError, match="No other tool"):
        propose(a_run(make_step("unixbench", {})))
    with pytest.raises(OpinionError, match="cannot check"):
        propose(a_run(make_step("fio", {})), other="stream")


# After

DD = make_step("dd", {"block_size": "1 MiB", "flush": "direct", "count": 64}, name="dd")
FIO = make_step("fio", {"rw": "write", "block_size": "1 MiB", "direct": "yes", "size": "64 MiB"}, name="fio")
VALUES = (100.0, 101.0, 99.0, 100.5, 99.5, 100.2)
WRITE = labels(operation="write")


def of_disk(factor: float, fio: Step = FIO, count: int = 6) -> RunRecord:
    dds = tuple(factor * value for value in VALUES[:count])
    fios = tuple(1e6 * value for value in VALUES[:count])
    return measured((fio, "bandwidth", WRITE, fios), (DD, "bandwidth", (), dds))


def test_units_are_converted_before_tools_are_said_to_agree() -> None:
    found = only(of_disk(1.01))
    assert found.outcome is Outcome.AGREE
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(1.01)
    assert "They agree within ±5 %." in agreement_line(found)
    assert any("were converted" in line for line in why_lines(found))


def test_a_difference_is_explained_by_what_was_asked_otherwise() -> None:
    deep = replace(FIO, values={**FIO.values, "iodepth": 8, "ioengine": "libaio"})
    found = only(of_disk(0.3, deep))
    assert found.outcome is Outcome.DIFFER
    assert [one.id for one in found.explained] == ["in-flight", "way-of-working"]
    assert found.against == ()


def test_what_would_have_it_the_other_way_round_is_said_to_speak_against_it() -> None:
    cached = replace(FIO, values={**FIO.values, "direct": False, "end_fsync": True})
    found = only(of_disk(3.0, cached))
    assert "cached" in [one.id for one in found.against]
    assert found.explained == ()
    assert UNKNOWN in list(why_lines(found))
    assert agreement_to_json(found)["unknown"] is True


def test_few_trials_and_wide_intervals_decide_nothing() -> None:
    few = only(of_disk(3.0, count=3))
    assert few.outcome is Outcome.UNDECIDED
    assert agreement_line(few).endswith("6 trials of each are needed.")
    assert only(of_disk(1.05)).outcome is Outcome.UNDECIDED
    assert only(of_disk(1.05), 0.2).outcome is Outcome.AGREE


def test_transactions_of_two_databases_are_not_one_quantity() -> None:
    one = make_step("sysbench-oltp", {}, name="sysbench")
    other = make_step("pgbench", {}, name="pgbench")
    found = only(measured(
        (one, "transactions_per_second", (), VALUES), (other, "transactions_per_second", (), VALUES)
    ))  # fmt: skip
    assert (found.outcome, found.ratio) == (Outcome.OTHER_QUANTITY, None)
    assert "not one quantity" in agreement_line(found)
    assert "statements" in " ".join(why_lines(found))


def test_rates_of_two_kinds_are_added_and_copied_bytes_doubled() -> None:
    stream = make_step("stream", {"threads": 2, "sweep": "single"}, name="stream")
    blocks = make_step("memory-blocks", {"threads": 2, "operations": "copy"}, name="blocks")
    at = labels(operation="copy", pattern="sequential", block="1 MiB", threads="2")
    doubled = only(measured(
        (stream, "copy", labels(threads="2"), [2 * value for value in VALUES]), (blocks, "throughput", at, VALUES)
    ))  # fmt: skip
    assert doubled.ratio is not None
    assert doubled.ratio.value == pytest.approx(1.0)
    assert "taken 2 times" in agreement_line(doubled)


def test_figures_of_opposite_directions_do_not_answer_each_other() -> None:
    one = make_step("iperf3", {}, name="iperf3", peer="b")
    other = make_step("net-blocks", {}, name="probe", peer="b")

    def found(direction: str) -> tuple[Agreement, ...]:
        at = labels(direction=direction, protocol="tcp", buffer="128 KiB", threads="1")
        mine = labels(direction="send", end="receiver")
        return agreements(measured((one, "throughput", mine, VALUES), (other, "throughput", at, VALUES)))

    assert [one.outcome for one in found("upload")] == [Outcome.AGREE]
    assert found("download") == ()


def test_one_tool_alone_agrees_with_nobody() -> None:
    assert agreements(measured((DD, "bandwidth", (), VALUES))) == ()


# The rules


FULL = Traits("read", "random", 4096, False, True, 1, 1, 2**30, 10.0)
OTHERWISE = (
    ("operation", {"operation": "write"}, Favours.NEITHER, Favours.NEITHER),
    ("pattern", {"pattern": "sequential"}, Favours.THEIRS, Favours.THEIRS),
    ("cached", {"cached": True}, Favours.THEIRS, Favours.THEIRS),
    ("flushed", {"flushed": False}, Favours.THEIRS, Favours.THEIRS),
    ("block", {"block": 65536}, Favours.THEIRS, Favours.OURS),
    ("in-flight", {"in_flight": 32}, Favours.THEIRS, Favours.OURS),
    ("working-set", {"working_set": 2**20}, Favours.THEIRS, Favours.THEIRS),
    ("seconds", {"seconds": 60.0}, Favours.NEITHER, Favours.NEITHER),
)


@pytest.mark.parametrize(("name", "change", "of_rates", "of_times"), OTHERWISE, ids=[one[0] for one in OTHERWISE])
def test_each_rule_speaks_of_what_it_is_about_alone(
    name: str, change: dict[str, object], of_rates: Favours, of_times: Favours
) -> None:
    theirs = replace(FULL, **change)  # type: ignore[arg-type] # each is a field of it
    for kind, favours in ((Kind.RATE, of_rates), (Kind.TIME, of_times)):
        (found,) = reasons(Asked(("one", "other"), FULL, theirs, kind))
        (turned,) = reasons(Asked(("other", "one"), theirs, FULL, kind))
        assert (found.id, found.favours, turned.favours) == (name, favours, Favours(-favours))


def test_threads_speak_where_requests_are_not_counted() -> None:
    one, other = Traits(threads=1), Traits(threads=4)
    assert [one.id for one in reasons(Asked(("a", "b"), one, other, Kind.RATE))] == ["threads"]
    assert len(RULES) == len(OTHERWISE) + 1


def test_the_same_question_and_an_unknown_one_give_no_reason() -> None:
    assert list(reasons(Asked(("a", "b"), FULL, FULL, Kind.RATE))) == []
    assert list(reasons(Asked(("a", "b"), FULL, Traits(), Kind.RATE))) == []
    assert counting(("fio", "sysbench-fileio")) is None
