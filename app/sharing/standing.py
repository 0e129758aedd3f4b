"""Rank of a run among the hosts with the same tests, and its difference from its baseline."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.comparison.comparison import Comparison
from app.comparison.sentences import change_text
from app.comparison.verdicts import ComparisonVerdict, verdict_text
from app.library_rows import LibraryRow
from app.plans.plan import Step
from app.ranking.ranking import Ranking
from app.ranking.report import rank_text
from app.records import RunRecord
from suites.quantities import count_text, first_upper
from suites.verdict import Trust

MOST_PEERS = 20
"""Other hosts among which a run is ranked: those measured last."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is stated of a step of a run on a host, each by its index; no text names a host or a baseline."""

    step: int
    host: int
    text: str


def peers_of(record: RunRecord, rows: Iterable[LibraryRow]) -> list[str]:
    """Return the newest run of each other host with the same tests, of `rows`, which begin with the newest.

    Runs in doubt, in the bin or of several hosts are left out.
    """
    found = list(rows)
    own = next((row.fingerprints for row in found if row.id == record.summary.id), ())
    peers: dict[tuple[str, ...], str] = {}
    for row in found:
        alike = own and row.fingerprints == own and row.summary.state is record.summary.state and not row.binned
        usable = len(row.summary.hosts) == 1 and row.summary.hosts[0] not in record.plan.hosts
        if alike and usable and not (row.summary.trust and Trust(row.summary.trust).in_doubt):
            peers.setdefault(row.summary.hosts, row.id)
    return list(peers.values())[:MOST_PEERS]


def rank_texts(ranking: Ranking, selectors: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the rank of each of the run's own `selectors` that has one, by its index."""
    metric, total = ranking.metric, len(ranking.ranked)
    if metric is None or total < 2:
        return
    for one in ranking.ranked:
        if one.candidate.selector in selectors:
            tied = sum(each.group == one.group for each in ranking.ranked) - 1
            beside = f", tied with {count_text(tied, 'other')}" if tied else ""
            rank = f"Rank {rank_text(ranking, one.group)} of {count_text(total, 'host')} by {metric.title}"
            yield selectors.index(one.candidate.selector), f"{rank}{beside}."


def baseline_text(comparison: Comparison, step: Step, host: str) -> str:
    """Return how the headline of a step compares with the baseline; empty if it cannot be compared."""
    for row in comparison.rows:
        side, figure = row.sides[-1], row.against[-1]
        own = row.step == step.name and row.metric.name == step.headline.name and side is not None and side.host == host
        known = figure.estimate is not None and figure.verdict is not ComparisonVerdict.NOT_COMPARABLE
        if own and known and figure.estimate is not None:
            margin = comparison.margin_of(row, figure)
            counts = "" if figure.counts is None else f", n = {figure.counts[0]} against {figure.counts[1]}"
            change = change_text(figure.estimate, margin)
            verdict = verdict_text(figure.verdict, margin)
            return first_upper(f"against its baseline {change}{counts}: {verdict}.")
    return ""
