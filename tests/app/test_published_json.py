"""What ``--json`` publishes keeps its keys and their values; sentences may be worded anew."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from app.baselines.baselines import baseline_to_json, built_in
from app.baselines.reference import Reference, ReferenceFigure
from app.baselines.reference_file import reference_to_json
from app.bursts import burst_to_json
from app.cli.main import benchwright
from app.cli.runs import queued_run_to_json
from app.cli.side_by_side import QueuedRun
from app.comparison.compare import compare
from app.comparison.comparison import comparison_to_json
from app.comparison.power import PlannedTest
from app.crosscheck.proposal import propose
from app.crosscheck.report import agreement_to_json, proposal_to_json
from app.detached_runs import DetachedRun
from app.distributions.distribution import DistributionKey, SideValues, distribution, distributions_to_json
from app.distributions.percentiles import TimedValue, ValueLevel, trial_values
from app.formats import verdict_to_json
from app.history import HistoryQuery, history_of, history_to_json
from app.json_converter import published
from app.margins import Margins
from app.noise import MetricTrials, noise_entry_rows, noise_of, noise_to_json
from app.plans.presets import presets
from app.plans.presets_json import preset_to_json
from app.profiles import profile_to_json
from app.queue.entries import EntryState, QueueEntry, placed
from app.queue.machines import Machine
from app.queue.queue_json import detached_to_json, place_to_json
from app.ranking.candidates import FigureLimit, RankingCriteria, RankingGoal, Threshold, parse_price
from app.ranking.ranking import rank
from app.ranking.report import ranking_to_json
from app.records import HistoryRow
from app.runs.control import Control
from app.sample_size.designs import Effort, SampleSizeRequest
from app.sample_size.pilot import PilotQuery, pilot_of
from app.sample_size.report import sample_size, sample_size_to_json
from app.scaling.scaling import scaling_of, scaling_rows, scaling_to_json
from app.scaling.sweeps import SweepCurve, SweepPoint
from app.services import Workstation
from app.store.ownership import Owner
from app.store.store import Store
from app.summary import run_to_json
from suites.errors import BenchwrightError
from suites.units import Unit
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Better, Figure, Metric, MetricKind, Sample
from tests.app.run_events import FINDING, IOPS, P99, READ, STEP, plan, run_record
from tests.app.test_bursts import meter
from tests.app.test_crosscheck import FIO, a_run, of_disk, only
from tests.app.test_profiles import profile, profiled_run
from tests.app.test_ranking import sweep

STORED = Path(__file__).parents[1] / "data" / "published.json"
BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0)
SLOWER = tuple(0.9 * value for value in BASE)
RATE = Metric("rate", "Rate", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)


def of_comparison() -> object:
    elsewhere = run_record("b", SLOWER, host="web-2", kernel="6.5.0")
    other = run_record("c", BASE, step=replace(STEP, values={**STEP.values, "block_size": 8192}))
    return [
        comparison_to_json(compare([run_record("a", BASE), elsewhere], Margins(0.03))),
        comparison_to_json(compare([run_record("a", BASE), run_record("b", BASE[:2]), run_record("c", BASE[:1])])),
        comparison_to_json(compare([run_record("a", BASE), other])),
        comparison_to_json(compare([run_record("a", BASE), other], overruled="both are small")),
    ]


def of_history() -> object:
    values = (*BASE, *(1.2 * value for value in BASE))
    rows = [
        HistoryRow(f"r{number}", f"2026-11-{number + 1:02d}", "p", "web-1", STEP.name, None, IOPS, READ, value)
        for number, value in enumerate(values)
    ]
    # The facts of earlier runs name another kernel, so that a change has a difference.
    found = history_of(
        HistoryQuery(("web-1",), "iops"), rows, {"p": plan()},
        lambda run, _: tuple(run_record("a", BASE, kernel="5" if int(run[1:]) < 6 else "6").facts_before.values()),
    )  # fmt: skip
    return history_to_json(found)


def of_ranking() -> object:
    runs = [run_record(name, [factor * value for value in BASE], host=name) for name, factor in (("a", 1), ("b", 0.8))]
    priced = RankingCriteria(
        {"iops": 1.0}, RankingGoal.CHEAPEST, Threshold(900.0, unit=Unit.PER_SECOND),
        prices={"a": parse_price("1 USD"), "b": parse_price("2 USD")}, margins=Margins(0.04),
    )  # fmt: skip
    sides = [[run] for run in runs]
    several = [
        [
            replace(run, trials=tuple(
                replace(one, figures=(*one.figures, Figure(P99, 1e6 / one.figures[0].value, READ)))
                for one in run.trials
            ))
        ]
        for run in runs
    ]  # fmt: skip
    swept = [[sweep(name, [(1, 100, 50), (8, 700, 300), (32, 2000, 9000)])] for name in "ab"]
    limit = FigureLimit("latency_p99", 1.0, Unit.MILLISECOND)
    limited = RankingCriteria({"iops": 1.0}, limit=limit, overruled="on purpose")
    few = [sides[0], [run_record("c", BASE[:5], host="c")]]
    return [
        ranking_to_json(rank(["a", "b"], sides, priced)),
        ranking_to_json(rank(["a", "c"], few, RankingCriteria({"iops": 1.0}))),
        ranking_to_json(rank(["a", "b"], swept, limited)),
        ranking_to_json(rank(["a", "b"], sides, RankingCriteria({"iops": 1.0}))),
        ranking_to_json(rank(["a", "b"], several, RankingCriteria({"iops": 2.0, "latency_p99": 1.0}))),
    ]


def of_distribution() -> object:
    rng = np.random.default_rng(1)
    sides = [
        [trial_values("a", n, "h", list(rng.normal(100, 5, 12)), TimedValue(80, 3)) for n in range(6)] for _ in "ab"
    ]
    what = DistributionKey("step", "h", IOPS, READ, ValueLevel.SAMPLES)
    return distributions_to_json([distribution(what, [SideValues("a", sides[0]), SideValues("b", sides[1])])])


def of_noise() -> object:
    found = noise_of(
        [
            MetricTrials("r", "s", "fio", host, metric, READ, (*few, scale))
            for host, few, scale in (("h", (1.0, 1.1, 1.05, 1.02, 1.07), 1.2), ("i", (1.0, 1.1), 2.0))
            for metric in (IOPS, P99)
        ]
    )
    return [noise_to_json(found), noise_entry_rows(found)]


def of_scaling() -> object:
    points = tuple(
        SweepPoint(float(n), str(n), (value, 1.01 * value, 0.99 * value))
        for n in range(1, 13)
        for value in [1000 * n / (1 + 0.05 * (n - 1) + 0.02 * n * (n - 1))]
    )
    sizes = tuple(SweepPoint(float(n), str(n), (100.0, 101.0)) for n in (1, 2))
    found = [
        scaling_of("r", "s", "h", SweepCurve(RATE, "threads", READ, points)),
        scaling_of("r", "s", "h", SweepCurve(RATE, "block_size", (), sizes)),
    ]
    return [scaling_to_json(found), scaling_rows(found)]


def of_bursts() -> object:
    return burst_to_json([meter().under(1500.0)])


def of_profiles() -> object:
    return profile_to_json([(None, profile(profiled_run())), (profile(profiled_run()), profile(profiled_run()))])


def of_crosscheck() -> object:
    agreed = [agreement_to_json(only(of_disk(factor, count=count))) for factor, count in ((1.01, 6), (0.5, 6), (1, 2))]
    return [proposal_to_json(propose(a_run(FIO))), *agreed]


def of_baselines() -> object:
    figures = (
        ReferenceFigure("iops", Unit.PER_SECOND, 10.0, READ, "fio", 9.0, 11.0, 6, "old firmware"),
        ReferenceFigure("latency", Unit.SECOND, 1.0),
    )
    table = Reference("mine", "Mine", figures, "a paper", ("a doubt",), "2020-01-31", {"cloud": "none"})
    first = baseline_to_json(built_in()[0])
    return [{**first, "too_old": True}, reference_to_json(table)]


def of_runs() -> object:
    record = run_record("a", BASE)
    verdict = Verdict(Trust.DOUBTFUL, Limiter.TOOL, "Doubtful.", (FINDING,), "random read", "web-1")
    whole = replace(verdict, step=None, host=None, limited_by=None)
    return [
        run_to_json(replace(record, findings=(FINDING,), verdicts=(verdict, whole))),
        verdict_to_json(verdict),
        detached_to_json(DetachedRun(record, "2026-11-20T14:15:30+00:00", by_choice=True)),
        published(Figure(IOPS, 1.0, READ)),
        published(Sample(1.0, IOPS, 2.0, READ, warm_up=True)),
    ]


def of_catalogues() -> object:
    printed = CliRunner().invoke(benchwright, ["checks", "page-cache", "--json"])
    return [[preset_to_json(one) for one in presets()], json.loads(printed.output)]


def of_sample_size() -> object:
    record = [run_record(f"{host}{day}", [value * (1 + 0.01 * day) for value in BASE], host=host)
              for host in ("web-1", "web-2", "web-3") for day in range(3)]  # fmt: skip
    pilot = pilot_of([record], PilotQuery(), Margins())
    effort = Effort(20.0, 10.0, price=parse_price("0.34 USD"))
    request = SampleSizeRequest(0.05, 0.05, effort, PlannedTest(paired=True))
    return [sample_size_to_json(sample_size(pilot, one)) for one in (request, replace(request, wanted=1e-6))]


def of_queue() -> object:
    machines = (Machine("web-1", frozenset({"192.0.2.1:22"})),)
    owner = Owner(4711, "boot", 1)
    waiting = QueueEntry("q7f3k", plan(), "/runs.sqlite3", machines, owner=owner)
    running = replace(waiting, id="q2222", state=EntryState.RUNNING, run="R2", done="3/6", ends=1.0e9)
    unqueued = QueuedRun(waiting, Control(), error=BenchwrightError("Removed from the queue."))
    places = [place_to_json(place) for place in placed([running, waiting], 0.0)]
    return [*places, queued_run_to_json(Workstation(Path("/nowhere")), unqueued, stored=False)]


PUBLISHED: Mapping[str, Callable[[], object]] = {
    "comparison": of_comparison,
    "history": of_history,
    "ranking": of_ranking,
    "distribution": of_distribution,
    "noise": of_noise,
    "scaling": of_scaling,
    "bursts": of_bursts,
    "profiles": of_profiles,
    "crosscheck": of_crosscheck,
    "baselines": of_baselines,
    "runs": of_runs,
    "catalogues": of_catalogues,
    "sample size": of_sample_size,
    "queue": of_queue,
}


def comparable(value: object) -> object:
    """Return `value` with rounded numbers, sentences as “…”, and the first items and the length of long lists."""
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [*(comparable(each) for each in value[:6]), *([len(value)] if len(value) > 6 else [])]
    if isinstance(value, str):
        return "…" if " " in value else value
    return float(f"{value:.6g}") if isinstance(value, float) else value


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_documents_are_as_before(name: str) -> None:
    found = json.loads(json.dumps(PUBLISHED[name]()))
    assert comparable(found) == json.loads(STORED.read_text(encoding="utf-8"))[name]


def test_a_stored_run_is_published_as_before(tmp_path: Path) -> None:
    library = tmp_path / "format-6.sqlite3"
    shutil.copy(STORED.parent / "store" / library.name, library)
    store = Store(library)
    found = [run_to_json(store.load(summary.id)) for summary in store.runs()]
    store.close()
    assert found
    stored = json.loads(STORED.read_text(encoding="utf-8"))["stored runs"]
    assert comparable(json.loads(json.dumps(found))) == stored
