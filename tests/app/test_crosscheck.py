"""A cross-check measures the same as far as parameters can be translated, and explains differences by closed rules."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.comparison.estimates import FEWEST_TRIALS
from app.crosscheck.agreement import Agreement, AgreementOutcome, agreements
from app.crosscheck.conditions import RULES, TraitPair, reasons
from app.crosscheck.proposal import CrossCheckError, equivalents_of, propose
from app.crosscheck.report import (
    UNEXPLAINED,
    agreement_line,
    agreement_to_json,
    proposal_lines,
    proposal_to_json,
    why_lines,
)
from app.events import State
from app.margins import Margins
from app.plans.plan import Order, Step, make_step
from app.plans.validation import validate
from app.records import RunRecord, TrialRecord
from suites.equivalents import Bias, Equivalent, Traits
from suites.parameters import Value
from suites.registry import SUITES
from suites.registry import suite as find_suite
from suites.vocab import Figure, Labels, MetricKind, labels
from tests.app.run_events import run_record, trial
from tests.messages import messages

MESSAGES = messages("app", "test_crosscheck")

BOTH_WAYS = [(one.id, pair) for one in SUITES for pair in equivalents_of(one.id)]

both_ways = pytest.mark.parametrize(
    ("suite", "pair"), BOTH_WAYS, ids=[f"{one}-{pair.other}" for one, pair in BOTH_WAYS]
)


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
    (found,) = agreements(record, Margins(margin))
    return found


# What suites declare


@both_ways
def test_a_pair_names_what_the_suites_have(suite: str, pair: Equivalent) -> None:
    ours, theirs = find_suite(suite), find_suite(pair.other)
    mine, other = ({one.name for one in side.parameters} for side in (ours, theirs))
    assert {one.ours for one in pair.parameters} | {name for name, _ in pair.fixed_backward} <= mine
    assert {one.theirs for one in pair.parameters} | {name for name, _ in pair.fixed} <= other
    assert {name for mapping in pair.metrics for name in mapping.ours} <= {one.name for one in ours.metrics}
    assert {name for mapping in pair.metrics for name in mapping.theirs} <= {one.name for one in theirs.metrics}
    assert pair.metrics


@both_ways
def test_every_suite_at_its_defaults_can_be_checked_and_its_plan_runs(suite: str, pair: Equivalent) -> None:
    found = propose(a_run(make_step(suite, {})), other=pair.other)
    checked = validate(found.plan).steps[1]
    assert checked.suite_id == pair.other
    assert (found.plan.order, found.plan.repetition.trials) == (Order.RANDOMISED, FEWEST_TRIALS)
    assert found.plan.question.endswith("agree?")
    assert pair.incomparable or checked.suite.traits(checked.values, None) != Traits()
    assert list(proposal_lines(found))
    assert (proposal_to_json(found)["suite"], proposal_to_json(found)["other"]) == (suite, pair.other)


@both_ways
def test_a_pair_seen_from_the_other_side_is_the_same_pair(suite: str, pair: Equivalent) -> None:
    assert pair.reversed_for(suite).reversed_for(pair.other) == pair
    assert pair.reversed_for(suite) in equivalents_of(pair.other)


def test_each_pair_is_declared_once_and_the_nearest_comes_first() -> None:
    pairs = [frozenset({one.id, pair.other}) for one in SUITES for pair in one.equivalents]
    assert len(set(pairs)) == len(pairs) == 13
    assert [pair.other for pair in equivalents_of("stream")] == ["sysbench-memory", "stress-ng", "memory-blocks"]
    assert [pair.other for pair in equivalents_of("fio")] == ["sysbench-fileio", "dd", "ioping"]
    assert [pair.other for pair in equivalents_of("memory-blocks")] == ["stream", "sysbench-memory"]


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
    assert [line.partition(" is not")[0] for line in found.lost] == ["iodepth 8", "ioengine libaio"]


def test_a_random_read_is_not_checked_with_dd_which_knows_none() -> None:
    asked = make_step("fio", {"rw": "randread", "direct": "yes", "runtime": "10 s"}, name="r")
    assert propose(a_run(asked)).pair.other == "sysbench-fileio"
    forced = propose(a_run(asked), other="dd")
    assert any(
        line.startswith("Operation randread") or MESSAGES["randread_cannot_be_carried"] in line for line in forced.lost
    )


@pytest.mark.parametrize("rw", ["randread", "randwrite", "randrw", "read", "write"])
@pytest.mark.parametrize(
    "given",
    [
        {"iodepth": 32, "numjobs": 4, "ioengine": "libaio", "direct": True, "size": 2**28},
        {"iodepth": 32, "numjobs": 4, "ioengine": "psync", "direct": True, "size": 2**28},
        {"iodepth": 1, "numjobs": 1, "direct": True, "fsync": 1},
        {"iodepth": 1, "numjobs": 3, "direct": False, "fsync": 8, "end_fsync": True},
        {"direct": False, "rwmixread": 75, "numjobs": 2},
    ],
)
def test_the_nearest_tool_has_the_same_conditions_as_fio(rw: str, given: dict[str, Value]) -> None:
    asked = make_step("fio", {"rw": rw, "runtime": "10 s", **given}, name="r")
    mine, theirs = propose(a_run(asked)).plan.steps
    one, other = (step.suite.traits(step.values, None) for step in (mine, theirs))
    assert replace(one, threads=None) == replace(other, threads=None)
    back = propose(a_run(theirs), other="fio").plan.steps[1]
    again = back.suite.traits(back.values, None)
    assert again == replace(other, working_set=again.working_set)


def test_fio_at_a_depth_is_not_checked_with_one_request_at_a_time() -> None:
    asked = make_step("fio", {"rw": "randread", "iodepth": 32, "ioengine": "libaio", "direct": True}, name="r")
    for other in ("ioping", "dd"):
        found = propose(a_run(asked), other=other)
        assert "in-flight" in [one.id for one in found.different]
        assert any(line.startswith("Not comparable: ") for line in proposal_lines(found))
        assert proposal_to_json(found)["conditions"]
    limited = replace(asked, values={**asked.values, "rate_iops": 100})
    with pytest.raises(CrossCheckError, match=r"same conditions.*rate_iops 100"):
        propose(a_run(limited))


def test_each_flush_of_dd_has_its_equivalent() -> None:
    for flush in ("none", "fdatasync", "direct", "dsync"):
        for other in ("fio", "sysbench-fileio"):
            found = propose(a_run(make_step("dd", {"flush": flush, "block_size": "1 MiB"})), other=other)
            same = flush != "dsync" or other == "fio"
            assert (found.different == ()) is same, (flush, other, found.different)


def test_udp_is_sent_at_the_same_total_rate() -> None:
    asked = make_step("net-blocks", {"protocol": "udp", "threads": 4, "rate": 100, "buffers": "1448"}, peer="db-1")
    theirs = propose(a_run(asked)).plan.steps[1]
    assert (theirs.values["bitrate"], theirs.values["streams"]) == (25.0, 4)
    assert propose(a_run(theirs)).plan.steps[1].values["rate"] == 100


def test_iperf3_untold_writes_128_kib_and_so_does_the_probe() -> None:
    found = propose(a_run(make_step("iperf3", {"streams": 4, "direction": "receive"}, peer="db-1")))
    values = found.plan.steps[1].values
    assert (values["buffers"], values["threads"], values["tests"], found.plan.steps[1].peer) == (
        "128 KiB", 4, "download", "db-1",
    )  # fmt: skip


def test_what_nothing_checks_is_refused() -> None:
    with pytest.raises(CrossCheckError, match="No suite is equivalent"):
        propose(a_run(make_step("unixbench", {})))
    with pytest.raises(CrossCheckError, match="is not equivalent to"):
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
    assert found.outcome is AgreementOutcome.AGREE
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(1.01)
    assert "They agree within ±5 %." in agreement_line(found)
    assert any("Units converted" in line for line in why_lines(found))


def test_a_difference_is_explained_by_what_was_asked_otherwise() -> None:
    smaller = replace(FIO, values={**FIO.values, "size": 2**20})
    found = only(of_disk(0.3, smaller))
    assert found.outcome is AgreementOutcome.DIFFER
    assert [one.id for one in found.explained] == ["working-set", "way-of-working"]
    assert found.against == ()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"iodepth": 8, "ioengine": "libaio"}, "in-flight"),
        ({"numjobs": 8}, "in-flight"),
        ({"rw": "randwrite"}, "pattern"),
        ({"rw": "rw", "rwmixread": 1}, "operation"),
        ({"fdatasync": 1}, "pattern"),
        ({"rate_iops": 100}, "pattern"),
        ({"block_sizes": "4k-64k"}, "pattern"),
        ({"block_size": 4096}, "block"),
        ({"direct": False, "end_fsync": True}, "cached"),
        ({"direct": False}, "flushed"),
    ],
)
def test_other_conditions_give_no_ratio_and_are_named(changed: dict[str, Value], reason: str) -> None:
    found = only(of_disk(0.13, replace(FIO, values={**FIO.values, **changed})))
    assert (found.outcome, found.ratio) == (AgreementOutcome.NOT_COMPARABLE, None)
    assert reason in [one.id for one in found.explained]
    assert agreement_line(found).endswith("Not comparable.")
    assert list(why_lines(found)) == [one.text for one in found.explained]


def test_what_would_have_it_the_other_way_round_is_said_to_speak_against_it() -> None:
    smaller = replace(FIO, values={**FIO.values, "size": 2**20})
    found = only(of_disk(3.0, smaller))
    assert "working-set" in [one.id for one in found.against]
    assert found.explained == ()
    assert UNEXPLAINED in list(why_lines(found))
    assert agreement_to_json(found)["unknown"] is True


def test_few_trials_and_wide_intervals_decide_nothing() -> None:
    few = only(of_disk(3.0, count=3))
    assert few.outcome is AgreementOutcome.UNDECIDED
    assert agreement_line(few).endswith(MESSAGES["6_trials_of_each_are_needed"])
    assert only(of_disk(1.05)).outcome is AgreementOutcome.UNDECIDED
    assert only(of_disk(1.05), 0.2).outcome is AgreementOutcome.AGREE


def test_transactions_of_two_databases_are_not_one_quantity() -> None:
    one = make_step("sysbench-oltp", {}, name="sysbench")
    other = make_step("pgbench", {}, name="pgbench")
    found = only(measured(
        (one, "transactions_per_second", (), VALUES), (other, "transactions_per_second", (), VALUES)
    ))  # fmt: skip
    assert (found.outcome, found.ratio) == (AgreementOutcome.OTHER_QUANTITY, None)
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
    assert "times 2 against" in agreement_line(doubled)


def test_figures_of_opposite_directions_do_not_answer_each_other() -> None:
    one = make_step("iperf3", {}, name="iperf3", peer="b")
    other = make_step("net-blocks", {}, name="probe", peer="b")

    def found(direction: str) -> tuple[Agreement, ...]:
        at = labels(direction=direction, protocol="tcp", buffer="128 KiB", threads="1")
        mine = labels(direction="send", end="receiver")
        return agreements(measured((one, "throughput", mine, VALUES), (other, "throughput", at, VALUES)))

    assert [one.outcome for one in found("upload")] == [AgreementOutcome.AGREE]
    assert found("download") == ()


def test_one_tool_alone_agrees_with_nobody() -> None:
    assert agreements(measured((DD, "bandwidth", (), VALUES))) == ()


# The rules


FULL = Traits("read", "random", 4096, False, True, 1, 1, 2**30, 10.0)
OTHERWISE = (
    ("operation", {"operation": "write"}, Bias.NEITHER, Bias.NEITHER),
    ("pattern", {"pattern": "sequential"}, Bias.OTHER, Bias.OTHER),
    ("cached", {"cached": True}, Bias.OTHER, Bias.OTHER),
    ("flushed", {"flushed": False}, Bias.OTHER, Bias.OTHER),
    ("block", {"block": 65536}, Bias.OTHER, Bias.DECLARING),
    ("in-flight", {"in_flight": 32}, Bias.OTHER, Bias.DECLARING),
    ("working-set", {"working_set": 2**20}, Bias.OTHER, Bias.OTHER),
    ("seconds", {"seconds": 60.0}, Bias.NEITHER, Bias.NEITHER),
)


@pytest.mark.parametrize(("name", "change", "of_rates", "of_times"), OTHERWISE, ids=[one[0] for one in OTHERWISE])
def test_each_rule_speaks_of_what_it_is_about_alone(
    name: str, change: dict[str, object], of_rates: Bias, of_times: Bias
) -> None:
    theirs = replace(FULL, **change)  # type: ignore[arg-type] # each is a field of it
    for kind, favours in ((MetricKind.RATE, of_rates), (MetricKind.TIME, of_times)):
        (found,) = reasons(TraitPair(("one", "other"), FULL, theirs, kind))
        (turned,) = reasons(TraitPair(("other", "one"), theirs, FULL, kind))
        assert (found.id, found.favours, turned.favours) == (name, favours, Bias(-favours))


def test_threads_speak_where_requests_are_not_counted() -> None:
    one, other = Traits(threads=1), Traits(threads=4)
    assert [one.id for one in reasons(TraitPair(("a", "b"), one, other, MetricKind.RATE))] == ["threads"]
    assert len(RULES) == len(OTHERWISE) + 1


def test_the_same_question_and_an_unknown_one_give_no_reason() -> None:
    assert list(reasons(TraitPair(("a", "b"), FULL, FULL, MetricKind.RATE))) == []
    assert list(reasons(TraitPair(("a", "b"), FULL, Traits(), MetricKind.RATE))) == []
    (pair,) = (one for one in equivalents_of("fio") if one.other == "sysbench-fileio")
    assert pair.reasons == ()
