"""What the analyses print as JSON is what the page on formats says, and nothing else."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import resources
from app.bursts import burst_to_json
from app.distributions.distribution import DistributionKey, SideValues, distribution, distributions_to_json
from app.distributions.percentiles import TimedValue, ValueLevel, trial_values
from app.noise import MetricTrials, noise_of, noise_to_json
from app.profiles import profile_to_json
from app.scaling.scaling import scaling_of, scaling_to_json
from app.scaling.sweeps import SweepCurve, SweepPoint
from suites.fio.metrics import IOPS
from suites.units import Unit
from suites.vocab import Better, Metric, MetricKind
from tests.app.test_bursts import meter
from tests.app.test_profiles import profile, profiled_run

PAGE = (Path(resources.__file__).parent / "help" / "formats.md").read_text(encoding="utf-8")
RATE = Metric("rate", "Rate", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)


def _keys(document: object) -> Iterator[str]:
    """Yield every field of a document, however deep; labels are the user's own."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield key
            if key != "labels":
                yield from _keys(value)
    elif isinstance(document, list):
        for each in document:
            yield from _keys(each)


TITLES = (
    "benchwright compare RUN RUN … --distribution",
    "benchwright noise RUN",
    "benchwright scaling RUN",
    "benchwright burst RUN",
    "benchwright profile RUN",
)


@cache
def _documents() -> dict[str, object]:
    rng = np.random.default_rng(1)
    sides = [
        [trial_values("a", n, "h", list(rng.normal(100, 5, 60)), TimedValue(80, 3)) for n in range(6)] for _ in "ab"
    ]
    what = DistributionKey("step", "h", IOPS, (), ValueLevel.SAMPLES)
    points = tuple(
        SweepPoint(float(n), str(n), (value, 1.01 * value, 0.99 * value))
        for n in range(1, 13)
        for value in [1000 * n / (1 + 0.05 * (n - 1) + 0.02 * n * (n - 1))]
    )
    measured = [MetricTrials("r", "s", "fio", host, IOPS, (), (1.0, 1.1, 1.2)) for host in ("h", "i")]
    documents = (
        distributions_to_json([distribution(what, [SideValues("a", sides[0]), SideValues("b", sides[1])])]),
        noise_to_json(noise_of(measured)),
        scaling_to_json([scaling_of("r", "s", "h", SweepCurve(RATE, "threads", (), points))]),
        burst_to_json([meter().under(1500.0)]),
        profile_to_json([(profile(profiled_run()), profile(profiled_run()))]),
    )
    return dict(zip(TITLES, documents, strict=True))


@pytest.mark.parametrize("title", TITLES)
def test_every_field_is_documented(title: str) -> None:
    section = PAGE.partition(f"## {title}")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`([a-z_]+)`", section)) | set(re.findall(r'"([a-z_]+)":', section))
    printed = set(_keys(_documents()[title]))
    assert printed <= documented
    assert section.count("benchwright-") >= 1


def test_a_model_that_stands_is_among_what_was_checked() -> None:
    document = _documents()["benchwright scaling RUN"]
    assert isinstance(document, dict)
    assert document["curves"][0]["fit"]["peak"] is not None
