"""Baselines: runs, groups of runs or published tables, pinned under a name, each pinning a version of its own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.baselines.reference import Reference
from app.comparing.choosing import Load
from app.moments import age_text
from app.records import RunRecord
from suites.errors import BenchwrightError

TOO_OLD = 90 * 86400.0
"""Seconds after which a baseline is called too old unless it was pinned with another limit: a quarter of a year, in
which hosts get kernels, microcode and neighbours. A convention of this program, not a measured figure."""

PREFIX = "baseline:"
"""Says that a word means a baseline, whatever runs are called."""

LONGEST_NAME = 80


class BaselineError(BenchwrightError):
    """There is no such baseline, or none can be pinned like that."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """One version of a baseline. `parts` are the words of its runs, as choose() of app.comparing.choosing takes
    them; `size` is how many it was pinned with, so that deleted ones are noticed. `pinned` is None where that was
    not written down. `measured` is when its newest run began, `oldest` after how many seconds it counts as too old.
    A `built_in` one came with the program and can be neither pinned anew nor removed.
    """

    name: str
    version: int
    pinned: str | None
    parts: tuple[str, ...] = ()
    size: int = 0
    reference: Reference | None = None
    measured: str = ""
    oldest: float = TOO_OLD
    newest: bool = True
    built_in: bool = False

    @property
    def word(self) -> str:
        """How the command line and the window name this very version."""
        return f"{PREFIX}{self.name}@{self.version}"

    @property
    def kind(self) -> str:
        """What it is: ``run``, ``group`` or ``reference``."""
        if self.reference is not None:
            return "reference"
        return "run" if self.size == 1 else "group"

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of its runs, each once."""
        return tuple(dict.fromkeys(part_of(word)[0] for word in self.parts))

    def age(self, now: datetime | None = None) -> float | None:
        """Return how many seconds ago it was measured, None where nobody said when."""
        try:
            moment = datetime.fromisoformat(self.measured)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return ((now or datetime.now(UTC)) - moment).total_seconds()

    def too_old(self, now: datetime | None = None) -> bool:
        """Return whether it is older than its limit."""
        age = self.age(now)
        return age is not None and age > self.oldest


def part_of(word: str) -> tuple[str, str]:
    """Return the run's id in a stored word, and what stands behind it: ids hold neither @ nor colon."""
    marks = [place for place in (word.find("@"), word.find(":")) if place > 0]
    return (word[: min(marks)], word[min(marks) :]) if marks else (word, "")


def remarks(baseline: Baseline, now: datetime | None = None) -> Iterator[str]:
    """Yield what has to be known wherever a baseline is shown: too old, runs deleted, a version that was replaced."""
    age = baseline.age(now)
    if age is not None and age > baseline.oldest:
        yield f"too old: measured {age_text(age)} ago, its limit is {age_text(baseline.oldest)}"
    if baseline.reference is not None:
        yield "reference, no spread known"
    elif len(baseline.parts) < baseline.size:
        yield f"{baseline.size - len(baseline.parts)} of its {baseline.size} runs were deleted"
    if not baseline.newest:
        yield f"version {baseline.version}, not the newest"


def title(baseline: Baseline) -> str:
    """Return a baseline in a line: its name, version and what it is made of."""
    what = {
        "run": "one run",
        "group": f"{len(baseline.parts)} runs",
        "reference": _counted(baseline.reference),
    }[baseline.kind]
    return f"{baseline.name}, version {baseline.version}, {what}"


def _counted(reference: Reference | None) -> str:
    count = 0 if reference is None else len(reference.figures)
    return f"{count} published figure{'' if count == 1 else 's'}"


def split_name(word: str) -> tuple[str, int | None]:
    """Return the name in ``NAME`` or ``NAME@VERSION``, and the version."""
    name, mark, version = word.removeprefix(PREFIX).rpartition("@")
    if mark and version.isdecimal() and len(version) < 10:
        return name, int(version)
    return word.removeprefix(PREFIX), None


def check_name(name: str) -> str:
    """Return `name` as a baseline can be called; raise BaselineError for one that could be taken for something else."""
    chosen = name.strip()
    wrong = not chosen or len(chosen) > LONGEST_NAME or not chosen.isprintable() or chosen == "last"
    if wrong or split_name(chosen)[1] is not None or chosen.startswith(PREFIX):
        raise BaselineError(
            f"“{name[:LONGEST_NAME]}” cannot name a baseline.",
            "Give a short name other than “last”, without @ and a number at its end.",
        )
    return chosen


def parts_of(load: Load, word: str) -> tuple[str, ...]:
    """Return the words for the runs that `word` means, each by its whole id: ``ID``, ``ID@HOST``, ``ID:STEP``."""
    pieces = [piece.strip() for piece in word.split(",") if piece.strip()]
    found = _whole(load, word)
    if found is not None or len(pieces) < 2:
        return (_part(load, word),)
    return tuple(dict.fromkeys(_part(load, piece) for piece in pieces))


def _part(load: Load, word: str) -> str:
    run = _whole(load, word)
    if run is not None:
        return run.summary.id
    marked = max(word.rfind("@"), word.rfind(":"))
    if marked <= 0:
        return load(word).summary.id  # it says what is wrong
    return _part(load, word[:marked]) + word[marked:]


def _whole(load: Load, word: str) -> RunRecord | None:
    try:
        return load(word)
    except BenchwrightError:  # it is no run as it stands; its parts may be
        return None


def by_name(found: Sequence[Baseline], word: str, built_in: Callable[[], Sequence[Baseline]]) -> Baseline:
    """Return the baseline that ``NAME`` or ``NAME@VERSION`` means, the newest version where none is named."""
    whole = word.removeprefix(PREFIX)
    name, version = split_name(word)
    for one in (*found, *built_in()):
        if (one.name == whole and one.newest) or (one.name == name and one.version == version):
            return one
    names = ", ".join(dict.fromkeys(one.name for one in found)) or "none yet"
    raise BaselineError(f"There is no baseline “{whole[:LONGEST_NAME]}”.", f"There are: {names}.")
