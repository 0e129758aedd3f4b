"""The published JSON Schemas: of what each verb prints with --json, and of documents."""

from collections.abc import Mapping
from typing import Annotated, Any

from app.baselines.baselines import BaselineJson, WholeBaselineJson
from app.bursts import BurstJson
from app.calibration.report import CalibrationJson
from app.checks.catalogue import CatalogueEntry
from app.comparison.comparison import ComparisonJson
from app.comparison.gate_report import GateJson
from app.crosscheck.report import AgreementsJson, ProposalJson
from app.distributions.distribution import DistributionsJson
from app.events import SettingRestored
from app.fleet.fleet_json import BoardJson, EstimateJson, WatchedStudyJson
from app.fleet.inventory_json import InventoryImportJson, InventoryJson
from app.fleet.results_json import FleetResultsJson, ProposalsJson
from app.fleet.sameness_report import SamenessJson
from app.formats import FactsJson, InvestigationJson, PlanJson
from app.history import HistoryJson
from app.hosts.hosts import ConnectReport
from app.hosts.leftovers import Leftover
from app.investigation_results import AnsweredJson
from app.json_converter import Json
from app.json_schema import DIALECT, SchemaTypes, open_to_more
from app.library_rows import AnnotationJson, LibraryRowJson
from app.noise import NoiseJson
from app.outputs.judged_json import JudgedJson
from app.plans.presets_json import PresetsJson
from app.profiles import ProfilesJson
from app.queue.queue_json import DetachedJson, QueueJson
from app.ranking.report import RankingJson
from app.records import RunSummary
from app.rejudging.rejudged_json import RejudgedJson
from app.sample_size.report import SampleSizeJson
from app.saved_mappings import MappingsJson
from app.saved_margins import MarginsJson
from app.scaling.scaling import ScalingJson
from app.session_json import SeriesJson, SessionsJson
from app.sharing.preview import RedactionPreview
from app.summary import RunJson
from app.verb_results import (
    AcknowledgedRun,
    BackedUpLibrary,
    CheckedPlan,
    DeletedCalibrations,
    DeletedRuns,
    ForgottenRun,
    ImportedFiles,
    ImportedRuns,
    ListedHost,
    LockedRuns,
    LoggedAction,
    MeasuredRun,
    MergedLibrary,
    PackedSamples,
    ParsedJson,
    QueuedRunJson,
    RestoredRuns,
    RetainedRuns,
    ShownPlan,
    UnlockedRuns,
    WrittenFiles,
)

ADDRESS = "urn:benchwright:schema"

_SCHEMAS: Mapping[str, tuple[str, Any]] = {
    "run": ("A run, also as export --run-json writes it", MeasuredRun),
    "list": ("The runs of the library", list[LibraryRowJson]),
    "compare": ("A comparison: a list of metrics of each side", list[ComparisonJson]),
    "gate": ("The outcome of a gate", GateJson),
    "judge": ("Judged outputs", JudgedJson),
    "plan": ("A plan, as plan files hold it", PlanJson),
    "facts": ("The facts of a host", FactsJson),
    "investigation": ("An investigation without its results", InvestigationJson),
    "history": ("The changes of a metric of a host", HistoryJson),
    "best": ("A ranking of runs", RankingJson),
    "searches": ("The saved searches: filters by name", Mapping[str, str]),
    "baselines": ("The baselines, without the figures of tables", list[BaselineJson]),
    "baseline": ("A baseline", WholeBaselineJson),
    "distribution": ("The distribution of a metric", DistributionsJson),
    "import": ("Imported outputs of tools", ImportedFiles),
    "import-library": ("Runs imported from a library or report", ImportedRuns),
    "files": ("The paths of written files", WrittenFiles),
    "redaction": ("The preview of a redacted export", RedactionPreview),
    "rejudge": ("Runs that were judged again", RejudgedJson),
    "hosts": ("The hosts", list[ListedHost]),
    "hosts-test": ("A test of a connection", Annotated[Json, ConnectReport]),
    "hosts-log": ("Actions on a host", list[LoggedAction]),
    "hosts-restore": ("Restored settings of a host", list[SettingRestored]),
    "hosts-leftovers": ("What runs left on a host", list[Leftover]),
    "inventory": ("The hosts with their attributes and groups", InventoryJson),
    "inventory-import": ("What an import of hosts changes", InventoryImportJson),
    "sameness": ("The facts that differ within groups of hosts", SamenessJson),
    "facts-of-hosts": ("The facts of several hosts", list[FactsJson]),
    "queue": ("The queue", QueueJson),
    "fleet": ("The fleet studies", list[WatchedStudyJson]),
    "fleet-estimate": ("Time, cost and volume of a fleet study", EstimateJson),
    "fleet-results": ("The results of a fleet study", FleetResultsJson),
    "fleet-propose": ("Designs of the next fleet study", ProposalsJson),
    "fleet-board": ("A fleet study with its hosts", BoardJson),
    "queue-run": ("The outcomes of several runs", list[QueuedRunJson]),
    "detached": ("The detached runs", list[DetachedJson]),
    "attach-forget": ("A detached run that was abandoned", ForgottenRun),
    "sessions": ("The session series", SessionsJson),
    "session-series": ("A session series", SeriesJson),
    "session-run": ("The run of a session, null if none ran", RunJson | None),
    "session-runs": ("The runs of due sessions, without results", list[Annotated[Json, RunSummary]]),
    "investigations": ("The investigations", list[InvestigationJson]),
    "investigation-results": ("An investigation with its results", AnsweredJson),
    "library-backup": ("A copy of the library", BackedUpLibrary),
    "library-merge": ("What was copied from another library", MergedLibrary),
    "library-pack": ("How many runs were packed", PackedSamples),
    "library-lock": ("Locked runs", LockedRuns),
    "library-unlock": ("Unlocked runs", UnlockedRuns),
    "library-retain": ("Runs older than an age, kept and deleted", RetainedRuns),
    "mappings": ("The mappings of tables", MappingsJson),
    "margins": ("The margins of metrics", MarginsJson),
    "plan-show": ("A plan with its commands that run as root", ShownPlan),
    "check": ("The findings on a plan", CheckedPlan),
    "presets": ("The presets", PresetsJson),
    "checks": ("The checks", list[CatalogueEntry]),
    "calibration": ("A calibration of a host", CalibrationJson),
    "calibrations": ("The calibrations of a host", list[CalibrationJson]),
    "calibrate-forget": ("Deleted calibrations of a host", DeletedCalibrations),
    "noise": ("The repeatability of results", NoiseJson),
    "scaling": ("Scaling curves", ScalingJson),
    "burst": ("Token buckets", BurstJson),
    "profile": ("Profiles", ProfilesJson),
    "sample-size": ("Designs that show a difference", SampleSizeJson),
    "second-opinion": ("A proposed cross-check", ProposalJson),
    "agree": ("Whether equivalent tools agree", AgreementsJson),
    "annotate": ("Name, note and tags by run", Mapping[str, AnnotationJson]),
    "delete": ("Runs put into the bin, or deleted for good", DeletedRuns),
    "restore": ("Runs taken out of the bin", RestoredRuns),
    "acknowledge": ("The acknowledged findings of a run", AcknowledgedRun),
    "parse": ("Figures and samples of an output", ParsedJson),
}

NAMES = tuple(sorted(_SCHEMAS))
"""The schemas by name."""

TITLES: Mapping[str, str] = {name: _SCHEMAS[name][0] for name in NAMES}
"""What each schema describes, by name."""


def schema(name: str, *, strict: bool = False) -> Json:
    """Return the JSON Schema `name`; a `strict` one admits no other keys, which a newer version may add."""
    title, kind = _SCHEMAS[name]
    made = SchemaTypes()
    found = made.of(kind)
    whole = {"$schema": DIALECT, "$id": f"{ADDRESS}:{name}", "title": title, **found, "$defs": made.definitions}
    return whole if strict else dict(open_to_more(whole))
