"""Burst meter on series of a known token bucket: rates, size, refill, and how long a load is served."""

import json
from csv import DictReader
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from app.bursts import BurstAnalysis, BurstEstimate, Drain, burst_chart, burst_lines, burst_of, drain_of, rate_text
from app.cli.main import benchwright
from app.events import Event, RunEnded, RunStarted, State
from app.store.store import Store
from suites.vocab import Figure, Sample
from tests.app.run_events import IOPS, READ, plan, trial, trial_events
from tests.app.stores import record
from tests.messages import messages

MESSAGES = messages("app", "test_bursts")

BURST, BASE, SIZE = 3000.0, 500.0, 100_000.0
SECONDS, REST = 120, 20.0


def drained(tokens: float, seconds: int = SECONDS, noise: float = 0.0, seed: int = 1) -> list[float]:
    """Return the rate of each second of a drain of a bucket that has `tokens` and refills at BASE."""
    rates = []
    for _ in range(seconds):
        rate = min(BURST, BASE + tokens)
        tokens -= rate - BASE
        rates.append(rate)
    dice = np.random.default_rng(seed)
    return [float(rate) for rate in rates * dice.normal(1, noise, seconds)]


def drain(number: int, rates: list[float], rest: float | None = None) -> Drain:
    return drain_of(number, [float(second) for second in range(1, len(rates) + 1)], rates, rest)


def meter(noise: float = 0.0, rests: tuple[float, ...] = (REST, REST, REST), size: float = SIZE) -> BurstAnalysis:
    first = drain(1, drained(size, noise=noise, seed=1))
    later = [
        drain(number, drained(min(size, BASE * rest), noise=noise, seed=number), rest)
        for number, rest in enumerate(rests, 2)
    ]
    return burst_of("run", "read", "web-1", (IOPS, READ), [first, *later])


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
def test_the_bucket_is_found_within_five_percent(noise: float) -> None:
    found = meter(noise)
    assert found.burst is not None
    assert found.base is not None
    assert found.size is not None
    assert found.refill is not None
    assert found.refill_ratio is not None
    truths = {found.burst: BURST, found.base: BASE, found.size: SIZE, found.refill: BASE, found.refill_ratio: 1.0}
    for estimate, truth in truths.items():
        assert estimate.value == pytest.approx(truth, rel=0.05)
        assert estimate.low <= truth * 1.001
        assert estimate.high >= truth * 0.999
    assert found.drains[0].duration == pytest.approx(SIZE / (BURST - BASE), rel=0.05)
    assert found.full_after == pytest.approx(SIZE / BASE, rel=0.05)
    assert not found.refill_at_least


def test_the_intervals_cover_the_truth() -> None:
    covered = 0
    for seed in range(200):
        one = drain(1, drained(SIZE, noise=0.05, seed=seed))
        assert one.spent is not None
        covered += one.spent.low <= SIZE <= one.spent.high
    assert covered >= 186  # of 190 expected


def test_a_sample_in_which_the_bucket_runs_empty_counts_by_its_share() -> None:
    for part in (0.1, 0.5, 0.9):
        tokens = (40 + part) * (BURST - BASE)
        one = drain(1, drained(tokens))
        assert one.duration == pytest.approx(40 + part, rel=1e-6)
        assert one.spent is not None
        assert one.spent.value == pytest.approx(tokens, rel=1e-6)


@pytest.mark.parametrize(
    ("rates", "reason"),
    [
        (drained(1e9, noise=0.02), "does not fall"),
        (drained(0.0, noise=0.02), "does not fall"),
        (drained(SIZE, 15), "15 samples, fewer than 20"),
        (list(np.linspace(3000, 500, SECONDS)), "No single fall of the rate: decay"),
        ([*[500.0] * 60, *[3000.0] * 60], "No single fall of the rate: step up"),
        (drained(2600.0), "or shorter than three samples"),
        ([], "0 samples"),
    ],
)
def test_a_trial_without_a_single_fall_has_a_reason(rates: list[float], reason: str) -> None:
    one = drain(1, rates)
    assert one.spent is None
    assert reason in one.reason
    found = burst_of("run", "read", "web-1", (IOPS, READ), [one])
    assert found.size is None
    assert found.under(100.0).load is None
    assert burst_lines(found) == [MESSAGES["no_burst"]]


def test_the_ends_of_an_interval_have_the_decimals_of_the_rate() -> None:
    assert rate_text(IOPS, BurstEstimate(299.79, 299.2, 300.4)) == "299.79 IOPS (299.20 to 300.40 IOPS)"


def test_single_outliers_do_not_end_a_burst() -> None:
    rates = drained(SIZE, noise=0.01)
    rates[10], rates[70] = 100.0, 2900.0
    one = drain(1, rates)
    assert one.duration == pytest.approx(SIZE / (BURST - BASE), rel=0.05)


def test_a_rest_after_a_drain_that_did_not_empty_the_bucket_measures_no_refill() -> None:
    whole = drain(1, drained(1e9, noise=0.01))
    found = burst_of("run", "read", "web-1", (IOPS, READ), [whole, drain(2, drained(SIZE), REST)])
    assert found.size is not None
    assert found.refill is None


def test_a_bucket_that_was_full_again_gives_a_lower_bound_of_its_refill() -> None:
    found = meter(0.01, rests=(1000.0,))
    assert found.refill_at_least
    assert found.refill is not None
    assert found.refill.value < BASE
    assert found.full_after == pytest.approx(SIZE / BASE, rel=0.05)
    assert any("Refill rate: at least" in line for line in burst_lines(found))


def test_a_bucket_that_was_empty_at_the_start_has_no_size_but_a_refill_rate() -> None:
    drains = [drain(1, drained(0.0, noise=0.01))]
    drains += [drain(number, drained(40 * BASE, noise=0.01, seed=number), 40.0) for number in (2, 3)]
    found = burst_of("run", "read", "web-1", (IOPS, READ), drains)
    assert found.refill is not None
    assert found.refill.value == pytest.approx(BASE, rel=0.05)
    assert not found.refill_at_least
    assert MESSAGES["empty_at_first"] in burst_lines(found)


def test_a_later_burst_that_is_too_short_asks_for_a_longer_rest() -> None:
    first, short = drain(1, drained(SIZE)), drain(2, drained(BASE), 1.0)
    assert MESSAGES["rest_longer"] in burst_lines(burst_of("run", "read", "web-1", (IOPS, READ), [first, short]))
    assert MESSAGES["rest_longer"] not in burst_lines(burst_of("run", "read", "web-1", (IOPS, READ), [first]))


@pytest.mark.parametrize("seconds", [4, 10, 40])
def test_a_short_burst_is_measured_in_a_long_drain(seconds: int) -> None:
    one = drain(1, drained(seconds * (BURST - BASE), 3600, noise=0.02))
    assert one.duration == pytest.approx(seconds, rel=0.05)


def test_the_size_is_that_of_a_later_drain_if_the_first_bucket_was_not_full() -> None:
    drains = [drain(1, drained(SIZE / 2, noise=0.01)), drain(2, drained(SIZE, noise=0.01, seed=2), 1000.0)]
    found = burst_of("run", "read", "web-1", (IOPS, READ), drains)
    assert found.size is not None
    assert found.size.value == pytest.approx(SIZE, rel=0.05)


@pytest.mark.parametrize(("load", "seconds"), [(1500.0, 100.0), (3000.0, 40.0), (9000.0, 40.0), (499.0, None)])
def test_a_load_empties_the_bucket_or_never(load: float, seconds: float | None) -> None:
    found = meter(0.0).under(load).load
    assert found is not None
    assert found.sustained == (seconds is None)
    assert found.seconds == (None if seconds is None else pytest.approx(seconds, rel=0.05))


RUN = "20261120-141530-k3f9"


def record_drains(store: Store) -> None:
    """Store a run of two drains: of the full bucket, and of a fifth of it."""
    events: list[Event] = [RunStarted(RUN, plan(trials=2), "2026-11-20T14:15:30+00:00")]
    for number, tokens in ((1, SIZE), (2, SIZE / 5)):
        samples = [Sample(at + 1.0, IOPS, rate, READ) for at, rate in enumerate(drained(tokens, noise=0.01))]
        figures = [Figure(IOPS, sum(one.value for one in samples) / len(samples), READ)]
        events += trial_events(trial(number), figures, samples)
    record(store, RUN, [*events, RunEnded(RUN, State.DONE, "", {})])


def test_the_command_line_reads_a_stored_run(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    store = Store(library)
    record_drains(store)
    store.close()

    def run(*words: str) -> str:
        done = CliRunner().invoke(benchwright, ["--store", str(library), "burst", "last", *words])
        assert done.exit_code == 0, done.output
        return done.stdout

    below = CliRunner().invoke(benchwright, ["--store", str(library), "burst", "last", "--load", "-5"])
    assert (below.exit_code, MESSAGES["above_nothing"] in below.stderr) == (2, True)
    csv, png = tmp_path / "burst.csv", tmp_path / "burst.png"
    (found,) = json.loads(run("--load", "1,500 IOPS", "--json", "--csv", str(csv), "--png", str(png)))["bursts"]
    assert found["size"]["value"] == pytest.approx(SIZE, rel=0.05)
    assert found["load"]["seconds"] == pytest.approx(100, rel=0.05)
    assert [one["number"] for one in found["drains"]] == [1, 2]
    assert "points" not in found["drains"][0]
    assert png.read_bytes().startswith(b"\x89PNG")
    rows = list(DictReader(csv.read_text(encoding="utf-8-sig").splitlines()))
    assert [row["trial"] for row in rows] == ["1", "2"]
    assert float(rows[1]["spent"]) == pytest.approx(SIZE / 5, rel=0.1)
    assert float(rows[0]["size_low"]) < SIZE < float(rows[0]["size_high"])
    text = run("--load", "400")
    assert "Bucket size: at least 1" in text
    assert MESSAGES["never_empty"] in text


def test_the_chart_has_each_drain_both_levels_and_the_bucket_in_words() -> None:
    points = tuple((float(at), rate) for at, rate in enumerate(drained(SIZE), 1))
    drains = [replace(drain(1, drained(SIZE)), points=points), Drain(2, reason="The trial is failed")]
    chart = burst_chart(burst_of("run", "read", "web-1", (IOPS, READ), drains).under(1500))
    one, burst, base = chart.series
    assert (len(one.xs), burst.ys, base.ys) == (SECONDS, (BURST, BURST), (BASE, BASE))
    assert burst.xs == (1.0, SECONDS)
    for part in ("Trial 2: The trial is failed.", MESSAGES["size"], MESSAGES["load"]):
        assert part in chart.note
    assert not burst_chart(burst_of("run", "read", "web-1", (IOPS, READ), drains[1:])).series


def test_a_rate_and_its_interval_have_the_same_digits() -> None:
    assert rate_text(IOPS, BurstEstimate(499.62, 499.24, 500.0)) == MESSAGES["rate"]
