"""Judge stored runs again, from what is stored of them. A figure never changes, only the verdict on it.

The checks of trials and of their ends are made again. What only the run could see is kept: the findings before the
start, on the hosts as they were then, and those seen during a trial.
"""

import contextlib
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from app.checks.catalogue import AFTER_IDS
from app.checks.version import CHECKS_VERSION
from app.events import State
from app.outputs.importing import reread_verdicts
from app.plans.plan import host_label
from app.records import ComputedVerdicts, Recall, RunRecord, SampleSeries
from app.store.errors import StoreLostError, UnreadableRunError
from app.store.verdict_history import NewVerdicts
from app.timestamps import now
from app.verdict.stored import computed_verdicts, seen_by_the_run, step_keys
from suites.errors import BenchwrightError
from suites.quantities import listed
from suites.verdict import Trust, Verdict, trust_of
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

    `differs` is whether the verdict changed at all, be it in its words. A `lasting` problem is not tried again by the
    same checks unless it is asked for.
    """

    run: str
    done: int
    total: int
    recall: Recall | None = None
    differs: bool = False
    problem: str = ""
    lasting: bool = False


def new_verdicts(
    record: RunRecord, samples: SampleSeries, telemetry: Mapping[str, tuple[Sample, ...]], content: bytes = b""
) -> NewVerdicts:
    """Return the verdicts of the present checks on a stored run; `content` is the file that it was imported from.

    Raises NotJudgedError.
    """
    if record.summary.state is State.RUNNING:
        raise NotJudgedError("It has not ended.")
    seen = tuple(seen_by_the_run(record))
    if lost := _lost_findings(record):
        raise NotJudgedError(lost)
    found = _imported(record, content, telemetry) if record.read_from is not None else None
    if found is None:
        found = computed_verdicts(_as_it_was(record).with_raised(seen), samples, telemetry)
    if problem := _no_longer_checked(record, found):
        raise NotJudgedError(problem)
    judged = {(one.step, one.host) for one in found.verdicts}
    missing = {name for name, host in step_keys(record.plan) if (name, host) not in judged}
    if missing:
        raise NotJudgedError(f"This version does not know the test of {listed(sorted(missing), 3)}.")
    made = NewVerdicts(record, found.verdicts, (*seen, *found.findings), None)
    return replace(made, recall=_recall(record, found.verdicts))


def _lost_findings(record: RunRecord) -> str:
    """Return which findings the verdicts name that only the run could make, and that are not stored; empty if none."""
    if record.read_from is not None:  # all of them are made again from its file
        return ""
    stored = {one.id for one in record.findings}
    named = (one for verdict in record.verdicts for one in verdict.findings if one.id not in AFTER_IDS)
    lost = dict.fromkeys(f"“{one.title}”" for one in named if one.id not in stored)
    return f"Findings seen by the run are missing: {listed(list(lost), 3)}." if lost else ""


def _no_longer_checked(record: RunRecord, found: ComputedVerdicts) -> str:
    """Return why a step would be trusted more only as a check lacks its evidence now; empty if none would."""
    for new in found.verdicts:
        old = record.verdict_on(new.step, new.host)
        if old is None or new.host is None or new.trust.rank >= old.trust.rank:
            continue
        reasons = found.not_checked.get((new.step, new.host), {})
        for one in old.findings:
            if one.id in reasons and trust_of(one.severity) is not Trust.VALID:
                return f"“{one.title}” cannot be checked again: {reasons[one.id]}"
        if new.host not in record.facts_before and record.read_from is None:
            return f"The facts of {host_label(new.host)} are missing."
    return ""


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
    """Return the title of the finding that made the trust lower, or that no longer does, or less; empty if none."""
    if new.trust.rank > old.trust.rank:
        return next(_added(old, new), new.findings[0].title if new.findings else "")
    gone = next(_added(new, old), "")
    if not gone:
        title = next((one.title for one in old.findings if trust_of(one.severity) is not Trust.VALID), "")
        return title and f"“{title}” counts less"
    return f"no longer “{gone}”"


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
    waiting, kept = list[NewVerdicts](), dict[str, str]()
    since = time.monotonic()
    for done, (run, record) in enumerate(_records(store, runs), 1):
        found, so_far = None, JudgedRun(run, done, len(runs))
        if isinstance(record, BenchwrightError):  # damaged, or deleted meanwhile
            so_far = replace(so_far, problem=record.message, lasting=isinstance(record, UnreadableRunError))
        elif judged_too or not is_judged(record):
            found, problem, lasting = _attempted(store, record)
            so_far = replace(so_far, problem=problem, lasting=lasting)
        if so_far.lasting:
            kept[run] = so_far.problem
        if found is not None:
            recall = found.recall if found.recall != found.record.recall else None
            so_far = replace(so_far, recall=recall, differs=found.differ)
            waiting.append(found)
        if not dry_run and (waiting or kept) and (done == len(runs) or time.monotonic() - since > WRITE_INTERVAL):
            _write(store, waiting, kept)
            waiting, kept, since = [], {}, time.monotonic()
        yield so_far


def _write(store: "Store", found: Sequence[NewVerdicts], kept: Mapping[str, str]) -> None:
    """Store verdicts, and why others are `kept`; where the user dismissed a notice meanwhile, judge by that."""
    again = []
    for one in store.replace_verdicts(found, CHECKS_VERSION, kept):
        with contextlib.suppress(BenchwrightError):  # deleted, or damaged
            now_stored = store.load(one.record.summary.id)
            if now_stored.verdicts == one.record.verdicts and now_stored.recall != one.record.recall:
                again.append(replace(one, record=now_stored, recall=_recall(now_stored, one.verdicts)))
    if again:
        store.replace_verdicts(again, CHECKS_VERSION)


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
                except StoreLostError:  # each further run would wait for a connection, too
                    raise
                except BenchwrightError as error:
                    found.append((run, error))
        yield from found


def is_judged(record: RunRecord) -> bool:
    """Return whether all verdicts of a run are of the present version of the checks, or of a later one."""
    return bool(record.verdicts) and all(one.checks >= CHECKS_VERSION for one in record.verdicts)


def _attempted(store: "Store", record: RunRecord) -> tuple[NewVerdicts | None, str, bool]:
    """Return the new verdicts on a run, or the reason why it has none, and whether it is the same the next time."""
    run = record.summary.id
    try:
        if lost := store.missing_evidence([run]).get(run):
            return None, lost, True
        content = b"" if record.read_from is None else store.imported_content(run)
        return new_verdicts(record, store.samples(run), store.telemetry(run), content), "", False
    except StoreLostError:
        raise
    except BenchwrightError as error:  # deleted or locked meanwhile, or not to be judged
        return None, error.message, isinstance(error, NotJudgedError) and record.summary.state is not State.RUNNING
    except Exception as error:  # a defect of a check must not keep the other runs from being judged
        log.exception("the run %s could not be judged", run)
        return None, f"Internal error: {type(error).__name__}.", True
