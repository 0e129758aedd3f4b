"""The confusion matrix of limits: each staged for real beside its clean twin; what is measured, and what is named.

``make bench truth [GROUP ...]``. With BENCHWRIGHT_TRUTH=FOLDER the runs are kept there, a second pass stages only what
is missing, and judges what is there by today's checks.
"""

import os
import shutil
import statistics
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from app.cli.common import print_table
from app.services import Workstation
from suites.verdict import Limiter
from tests.lab.guard import guarded_directory
from tests.lab.known_limits import LIMITS, Judged, KnownLimit, judge, judged, repeat
from tests.lab.staging import Stage
from tests.perf.outcome import Met, Outcome
from tests.perf.stage import on_a_stage

REPETITIONS = "BENCHWRIGHT_TRUTH_TIMES"
CLOSE = 0.03
RIGHT = 0.95
KEPT = "BENCHWRIGHT_TRUTH"

GROUPS = tuple(dict.fromkeys(limit.group for limit in LIMITS))

Found = dict[KnownLimit, "list[Judged] | str"]


def outcomes(groups: Iterable[str] = ()) -> list[Outcome]:
    """Stage the limits of some groups, or of all; print the table and the matrix; return the sums."""
    chosen = [limit for limit in LIMITS if not groups or limit.group in groups]
    with guarded_directory("benchwright-truth-") as folder:
        kept = Path(os.environ.get(KEPT, folder))
        kept.mkdir(parents=True, exist_ok=True)
        found = {limit: _judge(limit, kept) for limit in chosen}
    print_table(HEAD, [_row(limit, one) for limit, one in found.items()])
    print_table(["Staged", "Right", "Not identified", "Wrong", "Other limiters named"], list(_matrix(found)))
    return _sums(found)


def _judge(limit: KnownLimit, kept: Path) -> list[Judged] | str:
    if limit.computed is not None:
        return [judge(limit.computed, limit)]
    library, times = kept / f"{limit.id}.sqlite3", int(os.environ.get(REPETITIONS, "3"))
    times -= len(list(_read(limit, library))) if library.exists() else 0
    if times > 0:
        sys.stderr.write(f"staging {limit.group}: {limit.name}\n")

        def run(stage: Stage) -> None:
            if library.exists():
                shutil.copy(library, stage.folder / "runs.sqlite3")
            repeat(stage, limit, times)
            stage.workstation.close()
            shutil.copy(stage.folder / "runs.sqlite3", library)

        try:
            reason = on_a_stage(run, limit.tools)
        except Exception as error:  # noqa: BLE001 (the others are staged in spite of it)
            reason = f"{type(error).__name__}: {error}"
        if reason is not None:
            sys.stderr.write(f"not staged: {reason}\n")
            return reason
    return list(_read(limit, library)) or "no trial was completed"


def _read(limit: KnownLimit, library: Path) -> Iterable[Judged]:
    workstation = Workstation(library, library.with_name("hosts.toml"))
    try:
        yield from judged(workstation, limit)
    finally:
        workstation.close()


HEAD = ["Staged", "Limit", "True", "Measured", "Error", "Named", "Warnings of a twin"]


def _row(limit: KnownLimit, found: list[Judged] | str) -> list[str]:
    if isinstance(found, str):
        return [limit.group, limit.name, "", "", "", f"not staged: {found}", ""]
    figure, truth = statistics.median(one.figure for one in found), limit.truth
    named = Counter(_limiter(one) for one in found)
    return [
        limit.group, limit.name, "–" if truth is None else f"{truth:.4g}", f"{figure:.4g} {found[0].unit}",
        "–" if truth is None else f"{figure / truth - 1:+.1%}",
        ", ".join(f"{name} {times}" for name, times in named.items()),
        ", ".join(sorted(set().union(*(one.warnings for one in found)))) if limit.clean else "",
    ]  # fmt: skip


def _limiter(one: Judged) -> str:
    return str(one.verdict.limited_by or Limiter.UNKNOWN)


def _matrix(found: Found) -> Iterable[list[str]]:
    for group in dict.fromkeys(limit.group for limit in found):
        runs = [
            (limit, one) for limit, kept in found.items()
            if limit.group == group and limit.right and not isinstance(kept, str) for one in kept
        ]  # fmt: skip
        others = Counter(_limiter(one) for limit, one in runs if one.verdict.limited_by not in limit.right)
        unknown = others.pop(str(Limiter.UNKNOWN), 0)
        counts = f"{len(runs) - unknown - others.total()} of {len(runs)}", str(unknown), str(others.total())
        yield [group, *counts, ", ".join(f"{name} {times}" for name, times in others.items())]


def _sums(found: Found) -> list[Outcome]:
    staged = [(limit, one) for limit, runs in found.items() if not isinstance(runs, str) for one in runs]
    limits = [(limit, one) for limit, one in staged if limit.right]
    right = [limit for limit, one in limits if one.verdict.limited_by in limit.right]
    unknown = [limit for limit, one in limits if one.verdict.limited_by in {None, Limiter.UNKNOWN} - limit.right]
    wrong = len(limits) - len(right) - len(unknown)
    twins = [one for limit, one in staged if limit.clean]
    alarms = sorted({name for one in twins for name in one.warnings})
    share = len(right) / max(1, len(limits))
    errors = [abs(statistics.median(one.figure for one in runs) / truth - 1) for limit, runs in found.items()
              if not isinstance(runs, str) and (truth := limit.truth) is not None]  # fmt: skip
    close = sum(error <= CLOSE for error in errors)
    return [
        Outcome("limits named rightly", f"{len(right)} of {len(limits)}", f"{share:.0%}", f"{RIGHT:.0%}",
                _met(good=share >= RIGHT)),
        Outcome("limits named wrongly", f"{wrong} of {len(limits)}", "–", "none", _met(good=not wrong)),
        Outcome("limits not identified", f"{len(unknown)} of {len(limits)}", "–", "–", Met.MET),
        Outcome("warnings on clean twins", f"{len(alarms)} in {len(twins)}", ", ".join(alarms) or "–", "none",
                _met(good=not alarms)),
        Outcome(f"figures within {CLOSE:.0%} of the truth", f"{close} of {len(errors)}", "–", "all",
                _met(good=close == len(errors))),
    ]  # fmt: skip


def _met(*, good: bool) -> Met:
    return Met.MET if good else Met.MISSED
