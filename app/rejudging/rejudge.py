"""Judge stored runs again, from what is stored of them. A figure never changes, only the verdict on it.

The checks of trials and of their ends are made again. What only the run could see is kept: the findings before the
start, on the hosts as they were then, and those seen during a trial.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from app.checks.version import CHECKS_VERSION
from app.events import State
from app.outputs.importing import reread_verdicts
from app.records import ComputedVerdicts, Recall, RunRecord, SampleSeries
from app.store.verdict_history import NewVerdicts
from app.timestamps import now
from app.verdict.stored import computed_verdicts, seen_by_the_run, step_keys
from suites.errors import BenchwrightError
from suites.quantities import listed
from suites.verdict import Trust, Verdict
from suites.vocab import Sample

if TYPE_CHECKING:
    from app.store.store import Store

log = logging.getLogger(__name__)

WRITE_INTERVAL = 2.0
"""Seconds for which verdicts are gathered before they are stored together: who shows the list reads it again then."""


class NotJudgedError(BenchwrightError):
    """A stored run cannot be judged again."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """The `done`-th of `total` runs, judged again: what changed, or the problem for which its verdict stays.

    `differs` is whether the verdict changed at all, be it in its words.
    """

    run: str
    done: int
    total: int
    recall: Recall | None = None
    differs: bool = False
    problem: str = ""


def new_verdicts(
    record: RunRecord, samples: SampleSeries, telemetry: Mapping[str, tuple[Sample, ...]], content: bytes = b""
) -> NewVerdicts:
    """Return the verdicts of the present checks on a stored run; `content` is the file that it was imported from.

    Raises NotJudgedError.
    """
    if record.summary.state is State.RUNNING:
        raise NotJudgedError("It has not ended.")
    seen = tuple(seen_by_the_run(record))
    found = _imported(record, content, telemetry) if record.read_from is not None else None
    if found is None:
        found = computed_verdicts(_as_it_was(record).with_raised(seen), samples, telemetry)
    judged = {(one.step, one.host) for one in found.verdicts}
    missing = {name for name, host in step_keys(record.plan) if (name, host) not in judged}
    if missing:
        raise NotJudgedError(f"This version does not know the test of {listed(sorted(missing), 3)}.")
    made = NewVerdicts(record, found.verdicts, (*seen, *found.findings), None)
    return replace(made, recall=_recall(record, found.verdicts))


def _imported(
    record: RunRecord, content: bytes, telemetry: Mapping[str, tuple[Sample, ...]]
) -> ComputedVerdicts | None:
    if not content:
        raise NotJudgedError("The imported file is not stored.")
    found = reread_verdicts(record, content, telemetry.get(record.plan.hosts[0], ()))
    if found is None:
        raise NotJudgedError("Other tests are read in its file now. Import it again.")
    return found


def _as_it_was(record: RunRecord) -> RunRecord:
    """Return a run without the calibrations that were made after it."""
    began = datetime.fromisoformat(record.summary.started)
    earlier = (one for one in record.calibrations if datetime.fromisoformat(one.made) <= began)
    return replace(record, calibrations=tuple(earlier))


def _recall(record: RunRecord, verdicts: Sequence[Verdict]) -> Recall | None:
    """Return what the verdicts change in the trust that the user last saw; None if nothing."""
    pairs = [(record.verdict_on(one.step, one.host), one) for one in verdicts]
    changed = [(old, new) for old, new in pairs if old is not None and old.trust is not new.trust]
    if not changed:
        return record.recall
    changed.sort(key=lambda pair: (pair[1].step is not None, -abs(pair[1].trust.rank - pair[0].trust.rank)))
    old, new = changed[0]
    unseen = record.recall if record.recall is not None and record.recall.dismissed is None else None
    was = old.trust if unseen is None else Trust(unseen.was)
    return None if was is new.trust else Recall(was, new.trust, _reason(old, new), CHECKS_VERSION, now())


def _reason(old: Verdict, new: Verdict) -> str:
    """Return the title of the finding that made the trust lower, or that no longer does; empty if it is none."""
    if new.trust.rank > old.trust.rank:
        return next(_added(old, new), new.findings[0].title if new.findings else "")
    gone = next(_added(new, old), "")
    return gone and f"no longer “{gone}”"


def _added(first: Verdict, second: Verdict) -> Iterator[str]:
    """Yield the titles of the findings of the second verdict that the first has not, those that count most first."""
    known = {(one.id, one.severity) for one in first.findings}
    yield from (one.title for one in second.findings if (one.id, one.severity) not in known)


def rejudge(
    store: "Store", runs: Sequence[str], *, dry_run: bool = False, judged_too: bool = False
) -> Iterator[JudgedRun]:
    """Judge `runs` again and store their verdicts, unless it is a `dry_run`; yield each as it is judged.

    A run that the present checks have judged, as another process may have meanwhile, is left out unless `judged_too`.

    Verdicts are stored several runs at a time; those of the last two seconds are lost, and made again the next time,
    if it is closed before its end. Raises StoreError if the library cannot be read or written.
    """
    waiting: list[NewVerdicts] = []
    since = time.monotonic()
    for done, (run, record) in enumerate(_records(store, runs), 1):
        found, problem = None, ""
        if isinstance(record, BenchwrightError):  # damaged, or deleted meanwhile
            problem = record.message
        elif judged_too or not is_judged(record):
            found, problem = _attempted(store, record)
        so_far = JudgedRun(run, done, len(runs), problem=problem)
        if found is not None:
            recall = found.recall if found.recall != found.record.recall else None
            so_far = replace(so_far, recall=recall, differs=found.differ)
            waiting.append(found)
        if not dry_run and waiting and (done == len(runs) or time.monotonic() - since > WRITE_INTERVAL):
            store.replace_verdicts(waiting, CHECKS_VERSION)
            waiting, since = [], time.monotonic()
        yield so_far


READ_TOGETHER = 20
"""Runs whose records are read at once, which is faster: a read transaction that stays open delays checkpoints."""


def _records(store: "Store", runs: Sequence[str]) -> Iterator[tuple[str, RunRecord | BenchwrightError]]:
    """Yield the ids of runs with their records, or with the reason why one cannot be read."""
    for at in range(0, len(runs), READ_TOGETHER):
        part = runs[at : at + READ_TOGETHER]
        found: list[tuple[str, RunRecord | BenchwrightError]] = []
        with store.loading(part) as load:
            for run in part:
                try:
                    found.append((run, load(run)))
                except BenchwrightError as error:
                    found.append((run, error))
        yield from found


def is_judged(record: RunRecord) -> bool:
    """Return whether all verdicts of a run are of the present version of the checks, or of a later one."""
    return bool(record.verdicts) and all(one.checks >= CHECKS_VERSION for one in record.verdicts)


def _attempted(store: "Store", record: RunRecord) -> tuple[NewVerdicts | None, str]:
    """Return the new verdicts on a run, or the reason why it has none."""
    run = record.summary.id
    try:
        content = b"" if record.read_from is None else store.imported_content(run)
        return new_verdicts(record, store.samples(run), store.telemetry(run), content), ""
    except BenchwrightError as error:  # deleted meanwhile, or not to be judged
        return None, error.message
    except Exception as error:  # a defect of a check must not keep the other runs from being judged
        log.exception("the run %s could not be judged", run)
        return None, f"Internal error: {type(error).__name__}."
