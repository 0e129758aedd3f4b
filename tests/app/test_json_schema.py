"""The published JSON Schemas describe every key that is printed, and refuse what is not."""

import copy
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from app.calibration.report import noise_to_json
from app.cli.main import benchwright
from app.cli.schema import verbs_with_json
from app.events import State
from app.formats import calibration_to_json, facts_to_json
from app.margins import Margins
from app.plans.plan import Repetition
from app.published_schemas import NAMES, schema
from app.services import Workstation
from app.session_json import series_to_json, sessions_to_json
from app.session_series import SessionRun
from app.store.store import Store
from suites.verdict import Trust
from tests.app import run_events
from tests.app.test_calibration import calibration
from tests.app.test_published_json import PUBLISHED
from tests.app.test_redaction import canary_facts
from tests.app.test_sessions import NESTED
from tests.printed_json import errors, validator
from tests.widgets.library_runs import Made, record

DATA = Path(__file__).parents[1] / "data"
OUTPUTS = [DATA / "sysbench/1.0.20", DATA / "iperf3/3.12", DATA / "judged"]
LIBRARIES = sorted((DATA / "store").glob("*.sqlite3"))


def printed(library: Path, *words: str) -> Any:
    ran = CliRunner().invoke(benchwright, ["--store", str(library), *words])
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library, for each test to copy."""
    path: Path = tmp_path_factory.mktemp("library") / "runs.sqlite3"
    made = Workstation(path, path.with_name("hosts.toml"))
    first = Made("20260101-000000-0001", cpu=(8000.0, 8010.0), samples=20, trust=Trust.CAVEATS)
    record(made, first, Made("20260102-000000-0002", iops=(300e3, 301e3, 302e3), samples=20))
    made.close()
    return path


@pytest.fixture
def library(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(recorded, tmp_path / recorded.name))


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_printed(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    ran = CliRunner().invoke(benchwright, ["schema", name])
    assert json.loads(ran.stdout) == schema(name)
    assert '"additionalProperties": false' not in ran.stdout  # newer versions may add keys


def test_the_schemas_are_listed() -> None:
    ran = CliRunner().invoke(benchwright, ["schema", "--list"])
    rows = [line.split() for line in ran.stdout.splitlines() if not line.startswith(" ")]
    assert [row[0] for row in rows[2:]] == list(NAMES)
    for words in ([], ["run", "--list"]):
        assert CliRunner().invoke(benchwright, ["schema", *words]).exit_code == 2


@pytest.mark.quick(4)
@pytest.mark.parametrize("old", LIBRARIES, ids=lambda path: path.stem)
def test_runs_of_every_format_are_described(old: Path, tmp_path: Path) -> None:
    library = tmp_path / old.name
    shutil.copy(old, library)
    runs = printed(library, "list", "--json")
    assert runs
    assert not errors("list", runs)
    for run in runs:
        shown = printed(library, "show", "--json", run["id"])
        assert not errors("run", shown), run["id"]


def test_what_the_verbs_print_is_described(library: Path, tmp_path: Path) -> None:
    shown = printed(library, "show", "--json", "last")
    written = tmp_path / "run.json"
    ran = CliRunner().invoke(benchwright, ["--store", str(library), "export", "last", "--run-json", str(written)])
    assert ran.exit_code == 0, ran.output
    assert json.loads(written.read_text()) == shown
    assert not errors("run", shown)
    pair = ("20260101-000000-0001", "20260102-000000-0002")
    compared = printed(library, "compare", "--json", *pair)
    assert compared
    assert not errors("compare", compared)
    gate = ("gate", "--run", pair[1], "--against", pair[0], "--fail-if", "iops worse by 5 %", "--fail-if", "iops < 1")
    assert not errors("gate", printed(library, *gate, "--json"))


def test_plans_facts_and_investigations_are_described(library: Path) -> None:
    assert not errors("facts", facts_to_json(canary_facts()))
    assert not errors("plan", printed(library, "show", "--json", "last")["plan"])
    made = printed(library, "investigation", "new", "disk", "--json")
    assert not errors("investigation", made)
    assert errors("investigation", made | {"name": 1})


@pytest.mark.parametrize("folder", OUTPUTS, ids=lambda path: path.name)
def test_judged_and_imported_outputs_are_described(folder: Path, tmp_path: Path) -> None:
    files = [str(path) for path in sorted(folder.rglob("*")) if path.is_file()][::3][:24]
    judged = printed(tmp_path / "none.sqlite3", "judge", "--json", *files)
    assert sum(len(file["results"]) for file in judged["files"]) > 5
    assert not errors("judge", judged)
    library = tmp_path / "runs.sqlite3"
    for one in printed(library, "import", "--json", *files[:8])["imported"]:
        if one["run"]:
            assert not errors("run", printed(library, "show", "--json", one["run"])), one["file"]


def documents(name: str) -> Any:
    return PUBLISHED[name]()


DOCUMENTS: Mapping[str, Callable[[], list[Any]]] = {
    "compare": lambda: documents("comparison"),
    "run": lambda: documents("runs")[:1],
    "detached": lambda: [documents("runs")[2:3]],
    "history": lambda: [documents("history")],
    "best": lambda: documents("ranking"),
    "distribution": lambda: [documents("distribution")],
    "noise": lambda: documents("noise")[:1],
    "scaling": lambda: documents("scaling")[:1],
    "burst": lambda: [documents("bursts")],
    "profile": lambda: [documents("profiles")],
    "second-opinion": lambda: documents("crosscheck")[:1],
    "agree": lambda: [{"run": "a", "agreements": documents("crosscheck")[1:]}],
    "sample-size": lambda: documents("sample size"),
    "queue": lambda: [{"format": "benchwright-queue/1", "entries": documents("queue")[:2]}],
    "queue-run": lambda: [documents("queue")[2:]],
    "calibration": lambda: [calibration_to_json(calibration()) | {"sessions": noise_to_json([NESTED], Margins())}],
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_published_documents_are_described(name: str) -> None:
    found = DOCUMENTS[name]()
    assert found
    for one in found:
        assert not errors(name, one)


def test_the_series_of_sessions_is_described(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite3")
    begun = store.begin_series(replace(run_events.plan(), repetition=Repetition(1, sessions=2)))
    for run in ((), (SessionRun("run-1", 1, State.DONE, "2026-11-20T14:15:30+00:00", None, ""),)):
        series = replace(begun, runs=run)
        assert not errors("sessions", sessions_to_json([series]))
        assert not errors("session-series", series_to_json(series))
    store.close()


def mutations(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield the content with one key left out, one added, or one value of another type."""
    for path, value in leaves(content):
        for change in ("left out", "renamed", "of another type"):
            made = copy.deepcopy(content)
            inside = made
            for key in path[:-1]:
                inside = inside[key]
            if change == "of another type":
                inside[path[-1]] = {"never": [value]}
            elif isinstance(path[-1], str):
                inside.pop(path[-1])
                if change == "renamed":
                    inside[f"{path[-1]}_"] = value
            yield f"{'/'.join(map(str, path))} {change}", made


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    found = content.items() if isinstance(content, dict) else enumerate(content[:2])
    for key, value in found:
        if isinstance(value, dict | list) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


FREE = ("values", "labels", "telemetry_cost", "telemetry_program", "not_checked", "parameters", "before", "after",
        "failed", "best/metrics", "calibration/fingerprint", "detectable")  # fmt: skip
"""Objects with any keys, and texts that may be left out."""


VERBS = [
    "searches recent since:7d", "delete last", "restore 20260102-000000-0002", "library lock last --reason kept",
    "library retain --older 1d", "library unlock last", "library backup copy.sqlite3", "library merge copy.sqlite3",
    "library pack", "delete 20260101-000000-0001 --for-good --yes", "import copy.sqlite3",
    "export last --script run.sh", "acknowledge last interval=known",
    "investigation new disk", "investigation add disk last", "investigation add disk 20260101-000000-0001 last",
    "investigation show disk", "investigation list", "attach --list", "plan show plan.toml", "check plan.toml",
    "queue run", "queue add plan.toml", "queue", "sessions", "sessions run-due", "hosts log local",
    "calibrate local --list",
    "baseline pin last disk", "baseline show t2-micro-cpu", "scaling last", "hosts test local", "hosts restore local",
    "hosts leftovers local", "mappings", "margins",
]  # fmt: skip
"""Calls in their order, which tests.printed_json checks."""


def test_what_the_other_verbs_print_is_described(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = ["plan", "new", "--defaults", "--suite", "sysbench-cpu", "--output", "plan.toml", "--json"]
    assert json.loads(CliRunner().invoke(benchwright, made).stdout)["hosts"] == ["local"]
    for call in VERBS:
        ran = CliRunner().invoke(benchwright, ["--store", str(library), *call.split(), "--json"])
        assert ran.exit_code == 0, (call, ran.output, ran.exception)
        assert isinstance(json.loads(ran.stdout), dict | list), call


def test_every_verb_with_json_names_its_schemas() -> None:
    found = dict(commands(click.Context(benchwright)))
    with_json = {words for words, command in found.items() if any("--json" in one.opts for one in command.params)}
    assert len(with_json) > 70
    named = dict(verbs_with_json(click.Context(benchwright)))
    assert named.keys() == with_json
    assert {name for names in named.values() for name in names} == set(NAMES)


def commands(context: click.Context, *path: str) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), context.command
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None
            yield from commands(click.Context(command, context), *path, name)


def parts(made: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every schema within a schema, with where it is."""
    yield path, made
    for key, each in made.items():
        if key in {"properties", "$defs"}:
            for name, one in each.items():
                yield from parts(one, (*path, name))
        elif key in {"items", "additionalProperties"} and isinstance(each, dict):
            yield from parts(each, (*path, key))
        elif key in {"anyOf", "prefixItems"}:
            for one in each:
                yield from parts(one, (*path, key))


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_leaves_nothing_open(name: str) -> None:
    for path, one in parts(schema(name, strict=True)):
        assert one.keys() & {"type", "$ref", "enum", "const", "anyOf"}, path
        if one.get("type") == "object":
            assert one["additionalProperties"] is False or one["additionalProperties"], path
        if one.get("type") == "array":
            assert "items" in one or "prefixItems" in one, path


PAIR = ("20260101-000000-0001", "20260102-000000-0002")


WORDS = {
    "list": ("list",),
    "run": ("show", "last"),
    "distribution": ("show", "last", "--distribution", "iops"),
    "compare": ("compare", *PAIR),
    "gate": ("gate", "--run", PAIR[1], "--against", PAIR[0], "--fail-if", "iops worse by 5 %"),
    "judge": ("judge", str(DATA / "sysbench/1.0.20/cpu_default.stdout")),
    "parse": ("parse", "sysbench-cpu", str(DATA / "sysbench/1.0.20/cpu_default.stdout")),
    "investigation": ("investigation", "new", "disk"),
    "best": ("best", *PAIR, "--metric", "iops"),
    "rejudge": ("rejudge", "--all"),
    "redaction": ("export", "last", "--preview"),
    "annotate": ("annotate", "last", "--note", "disk"),
    "baselines": ("baseline", "list"),
    "baseline": ("baseline", "pin", "last", "disk"),
    "noise": ("noise", "last"),
    "hosts": ("hosts",),
    "margins": ("margins",),
    "presets": ("plan", "presets"),
    "checks": ("checks", "page-cache"),
}
"""Verbs whose output is mutated, by schema; the others are made of the same types."""

EVERY = 25
"""The mutations that are tried of a large document: it has the same keys many times."""


@pytest.mark.quick(8)
@pytest.mark.parametrize("name", [*dict.fromkeys([*WORDS, *DOCUMENTS]), "facts", "plan"])
def test_mutations_are_refused(name: str, library: Path) -> None:
    if name in DOCUMENTS and name not in WORDS:
        content = DOCUMENTS[name]()[0]
    elif name == "facts":
        content = facts_to_json(canary_facts())
    else:
        content = printed(library, *WORDS.get(name, WORDS["run"]), "--json")
    content = json.loads(json.dumps(content["plan"] if name == "plan" else content))
    assert not errors(name, content)
    changes = [each for each in mutations(content) if not any(f"/{free}/" in f"/{name}/{each[0]}" for free in FREE)]
    tried = changes[:: max(1, len(changes) // EVERY)]
    for what, made in tried:
        assert made == content or not validator(name).is_valid(made), what
    assert len(tried) > 5
