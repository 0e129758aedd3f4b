"""The JSON that verbs print with --json of what they did, where no other module has it."""

from collections.abc import Mapping
from typing import Annotated, NotRequired, TypedDict

from app.comparison.comparison import ComparisonJson
from app.events import State
from app.formats import AcknowledgedJson, FindingJson, PlanJson, RemarksJson
from app.hosts.hosts import HostEntry
from app.json_converter import Json
from app.records import HostAction
from app.runs.root_commands import RootCommand
from app.store.library_merge import Merged
from app.summary import RunJson
from suites.vocab import Figure, Sample

FINDINGS_FORMAT = "benchwright-findings/1"


class MeasuredKeys(TypedDict):
    """Keys of a run that was just measured: the comparison of a duet's steps, and the files that were written."""

    duet: NotRequired[list[ComparisonJson]]
    files: NotRequired[list[str]]


MeasuredRun = Annotated[RunJson, MeasuredKeys]


class QueuedRunJson(TypedDict):
    """The outcome of one of several runs; `run` is None if it is not stored."""

    plan: str
    hosts: list[str]
    state: State | Annotated[str, "detached"] | None
    error: str | None
    run: RunJson | None


class CannotTellJson(TypedDict):
    """A check that was not done, and why."""

    id: str
    because: str
    step: str | None


class CheckedKeys(TypedDict):
    """Keys of a checked plan beside those of RemarksJson."""

    format: Annotated[str, FINDINGS_FORMAT]
    findings: list[FindingJson]
    cannot_tell: list[CannotTellJson]


CheckedPlan = Annotated[Json, CheckedKeys, RemarksJson]


class ShownPlanKeys(TypedDict):
    """Keys of a plan with its commands that run as root."""

    as_root: list[Annotated[Json, RootCommand]]


ShownPlan = Annotated[PlanJson, ShownPlanKeys]


class ForgottenRun(TypedDict):
    """A detached run that was abandoned, its state, and the hosts that may have its leftovers."""

    run: str
    state: State
    hosts: list[str]


class DeletedCalibrations(TypedDict):
    """How many calibrations of a host were deleted."""

    host: str
    deleted: int


class AcknowledgedRun(TypedDict):
    """The acknowledged findings of a run."""

    run: str
    acknowledged: list[AcknowledgedJson]


class ParsedJson(TypedDict):
    """The figures and samples in an output of a tool."""

    metrics: list[Annotated[Json, Figure]]
    samples: list[Annotated[Json, Sample]]
    notes: list[str]


class DeletedRuns(TypedDict):
    """Runs that were put into the bin, or deleted for good."""

    deleted: list[str]


class RestoredRuns(TypedDict):
    """Runs that were taken out of the bin."""

    restored: list[str]


class LockedRuns(TypedDict):
    """Runs that were locked."""

    locked: list[str]


class UnlockedRuns(TypedDict):
    """Runs whose locks were removed."""

    unlocked: list[str]


class WrittenFiles(TypedDict):
    """The paths of the files that were written."""

    files: list[str]


class ImportedFile(TypedDict):
    """A file with outputs of tools: its run and trust, or the problem for which there is none.

    `present`: the library had the run already. `mapping` is the name of that of a table.
    """

    file: str
    run: str | None
    trust: str | None
    problem: str
    present: bool
    mapping: str | None


class ImportedFiles(TypedDict):
    """Imported outputs."""

    imported: list[ImportedFile]


class ImportedRuns(TypedDict):
    """Runs imported from a library, those that were there already, and why others were not, by run.

    `added` is what the user had added there to runs that the library had, and investigations.
    """

    runs: list[str]
    present: list[str]
    refused: Mapping[str, str]
    added: list[str]


class MergedLibrary(TypedDict):
    """Runs copied from a library, those that were there already, and why others were not, by run; and what else."""

    runs: list[str]
    present: list[str]
    refused_runs: Mapping[str, str]
    added: list[str]
    refused: list[str]


def merged_to_json(found: Merged) -> MergedLibrary:
    """Return the public JSON of a merged library."""
    return {
        "runs": list(found.runs.runs),
        "present": list(found.runs.present),
        "refused_runs": dict(found.runs.refused),
        "added": [*found.runs.added, *found.added],
        "refused": list(found.refused),
    }


class BackedUpLibrary(TypedDict):
    """A verified copy of a library: the rows of all its tables, and its size in bytes."""

    file: str
    runs: int
    rows: int
    size: int


class PackedSamples(TypedDict):
    """How many runs were packed, and how many are left."""

    packed: int
    left: int


class RetainedRuns(TypedDict):
    """Runs older than an age: to delete, kept or refused (reasons by run), and deleted ones with the bytes freed."""

    expired: list[str]
    kept: Mapping[str, str]
    deleted: list[str]
    refused: Mapping[str, str]
    freed: int | None


class ListedHostKeys(TypedDict):
    """Keys of a host in the list beside those of HostEntry; `resolved` is its address by ~/.ssh/config."""

    resolved: str | None


ListedHost = Annotated[Json, HostEntry, ListedHostKeys]


class LoggedActionKeys(TypedDict):
    """Keys of an action on a host beside those of HostAction."""

    output: str


LoggedAction = Annotated[Json, HostAction, LoggedActionKeys]
