"""What identifies hosts and people is in no redacted export: canaries in every fact, name, note and output."""

import ast
import base64
import gzip
import html
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from app.checks.catalogue import DURING_CHECKS, TRIAL_CHECKS
from app.comparison.criteria import ComparisonCriteria
from app.events import (
    FactsRead,
    FindingRaised,
    Moment,
    OutputRead,
    RunEnded,
    RunStarted,
    State,
    TelemetryRead,
    TrialStarted,
)
from app.hosts.hosts import HostEntry
from app.library_rows import Annotation
from app.outputs.files import OutputText
from app.plans.plan import Plan, make_step
from app.plans.plan_remarks import Acknowledged
from app.services import Workstation
from app.sharing.identifying_facts import IDENTIFYING_FACTS, PUBLIC_FACTS, text_facts
from app.sharing.ordinary_words import is_ordinary, ordinary_words, words_of
from app.sharing.preview import LONGEST, SHOWN, KeptText, Redacted, RedactionPreview
from app.sharing.redacted_copy import Keep, redacted_copy
from app.sharing.redaction import Redaction
from app.sharing.replacement import Replacement, variants
from app.store.store import Store
from suites.base import Command, Suite
from suites.command.parameters import WALL_TIME, figure_metric
from suites.facts import Absent, Facts
from suites.parameters import Type
from suites.registry import SUITES
from suites.vocab import Figure, Sample, labels
from tests.app.run_events import trial, trial_events
from tests.program import DONE, benchwright
from tests.widgets.library_runs import CLOCK, CPU_USER, FINDING, Made, events, record, recorder

SYSBENCH = Path(__file__).parents[1] / "data/sysbench/1.0.20/cpu_default.stdout"
RUN = "20260101-000000-0001"
HOST = "zq-host-7.zqcorp.example"
PEER = "zq-peer-3.zqcorp.example"
NOT_IN_AN_ID = r"(?<!-\d{6}-)(?<!-\d{6}-\w)(?<!-\d{6}-\w\w)"
"""The random end of a run’s id may have the letters with which a canary begins."""

CANARY = re.compile(
    NOT_IN_AN_ID.encode() + rb"zq[\w-]{4,}|ZQ-HOST|203\.0\.113\.\d+|02:00:5e:00:53:0[0-9a-f]|2001:db8::\w+"
)
"""What every planted value is recognised by."""


def canary_facts() -> Facts:
    """Return facts with a canary in each that identifies."""
    found = _planted(Facts, "")
    return replace(found, host=HOST, read_at="2026-01-01T00:00:00+00:00")


def _planted(kind: Any, path: str) -> Any:
    """Return a dataclass of facts in which each text has a canary of its own if it identifies."""
    given: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for each in fields(kind):
        own = f"{path}.{each.name}" if path else each.name
        hint = hints[each.name]
        kinds = [one for one in (hint, *get_args(hint)) if one is not Absent]
        parts = [one for of in kinds for one in (of, *get_args(of))]
        inner = next((one for one in parts if is_dataclass(one) and one is not Absent), None)
        several = any(getattr(one, "__origin__", None) is tuple for one in kinds)
        if inner is not None:
            given[each.name] = (_planted(inner, own),) if several else _planted(inner, own)
        elif str in parts:
            text = _canary(own) if own in IDENTIFYING_FACTS else "public"
            given[each.name] = (text,) if several else text
        elif float in parts or int in parts:
            if each.name == "value":
                given[each.name] = 1.0
            elif each.name in {"level", "node", "package"}:
                given[each.name] = 1
            elif each.name == "cpus" and several:
                given[each.name] = (0,)
    return kind(**given)


def _canary(path: str) -> str:
    name = "zq" + re.sub(r"\W", "", path)
    how = IDENTIFYING_FACTS[path]
    return {
        "path": f"/srv/{name}/zqdir",
        "place": f"{name}:/export/zqdir",
        "places": f"root=/dev/mapper/{name} addr=203.0.113.9 2001:db8::99/64 02:00:5e:00:53:01",
        "words": f"mount sdb1 /srv/{name}",
    }.get(how, name)


def test_every_fact_in_text_is_known_to_identify_or_to_be_public() -> None:
    paths = {path for path, _ in text_facts(canary_facts())}
    assert paths == {*IDENTIFYING_FACTS, *PUBLIC_FACTS}
    assert not PUBLIC_FACTS & set(IDENTIFYING_FACTS)


OUTPUT = "\n".join([
    "Linux zq-host-7 6.1.0-28 #1 SMP", "connected to 203.0.113.9 port 5201", "link 02:00:5e:00:53:01",
    json.dumps({"text": "line\nzq-host-7\tzquser"}), html.escape("<zq-host-7&zqcorp>"),
    quote("/srv/zqdir?zquser", safe=""),
    base64.b64encode(b"user zquser on zq-host-7 at 203.0.113.9").decode(), "/home/zquser/fio.0.0 ZQ-HOST-7",
    base64.b64encode(gzip.compress(b"zq-host-7 " * 9)).decode(), "\x1b[1mzq-host-7\x1b[0m",
])  # fmt: skip


def planted(workstation: Workstation) -> None:
    """Record a run with canaries everywhere."""
    made = Made(RUN, iops=(1000.0, 1010.0), samples=3, host=HOST, name="zqplan check", question="Why is zqcorp slow?")
    with recorder(workstation, made) as writing:
        for each in events(made):
            event = each
            match event:
                case RunStarted():
                    plan = replace(
                        event.plan,
                        steps=tuple(
                            replace(step, values={**step.values, "directory": "/srv/zqdir"}, peer=PEER)
                            for step in event.plan.steps
                        ),
                        acknowledged=(Acknowledged("interval", "zquser said so"),),
                    )
                    event = replace(event, plan=plan)
                case FactsRead():
                    event = replace(event, facts=canary_facts())
                    peer = replace(event.facts, host=PEER, system=replace(event.facts.system, host_name="zqpeerown"))
                    writing.record(replace(event, host=PEER, facts=peer))
                case TrialStarted():
                    words = (*event.trial.commands[0].argv, "--directory=/srv/zqdir", "--client=zquser@zq-host-7")
                    trial = replace(event.trial, commands=(Command(words),))
                    event = replace(event, trial=trial)
                case OutputRead():
                    data = OUTPUT.encode()  # in two pieces, the border in the middle of a name
                    cut = data.index(b"zq-host-7") + 4
                    writing.record(replace(event, data=data[:cut]))
                    event = replace(event, data=data[cut:])
                case TelemetryRead():
                    sample = Sample(CLOCK, CPU_USER, 3.0, labels(device="zqvg-zqdata"))
                    event = replace(event, samples=(*event.samples, sample))
                case _:
                    pass
            writing.record(event)
            if isinstance(event, FactsRead) and event.moment is Moment.BEFORE:
                measured = "zq-host-7 (203.0.113.9) writes to /srv/zqdir"
                writing.record(FindingRaised(replace(FINDING, measured=measured, host=HOST, step=None)))
    workstation.annotate({RUN: Annotation(name="zqname", note="ask zquser of zqpeerown", tags=("zqtag",))})


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    made.save_hosts(HostEntry(HOST, host_name="203.0.113.9", user="zquser", jump="zqjump@zqbastion"))
    planted(made)
    yield made
    made.close()


def test_no_canary_is_in_any_export(workstation: Workstation, tmp_path: Path) -> None:
    assert CANARY.search((tmp_path / "runs.sqlite3").read_bytes())
    out = tmp_path / "out"
    out.mkdir()
    with workstation.redacted([RUN]) as source:
        shared, runs = source.workstation, source.runs
        shared.export_csv(runs, out / "a.csv")
        shared.export_parquet(runs, out / "a.parquet")
        shared.export_image(runs, out / "a.png")
        list(shared.export_library(runs, out / "a.sqlite3"))
        copied = shared.load(runs[0])
        output = shared.output(RUN, 1)["stdout"]
        preview = source.preview().text
    for path in out.iterdir():
        assert not CANARY.search(path.read_bytes()), (path, CANARY.findall(path.read_bytes()))
    unpacked = [base64.b64decode(word) for word in re.findall(rb"[A-Za-z0-9+/=]{24,}", output)]
    assert len(unpacked) == 2
    texts = [unpacked[0], gzip.decompress(unpacked[1])]
    assert not any(map(CANARY.search, texts))
    assert texts[1] == b"host-A " * 9
    assert copied.plan.hosts == ("host-A",)
    assert copied.plan.name == "plan-A"
    assert [one.value for one in copied.trials[0].figures] == [
        one.value for one in workstation.load(RUN).trials[0].figures
    ]
    assert copied.plan.hash() == copied.plan_hash
    assert all(f"{name}-" in preview for name in ("host", "user", "address", "MAC", "serial", "path"))


def test_one_name_is_replaced_alike_everywhere(workstation: Workstation) -> None:
    with workstation.redacted(["last"]) as source:
        record = source.workstation.load("last")
        output = source.workstation.output(RUN, 1)["stdout"].decode()
    assert record.facts_before["host-A"].system.host_name == "host-A"
    assert "Linux host-A 6.1.0-28" in output
    assert "\x1b[1mhost-A\x1b[0m" in output
    assert record.trials[0].trial.commands[0].argv[-1].endswith("@host-A")
    assert record.plan.steps[0].values["directory"].startswith("/srv/path-")  # type: ignore[union-attr]


WORDS = st.text("abcdefghijklmnopqrstuvwxyzäßé0123456789.-_ '\"&<>%$+", min_size=5, max_size=20).map(
    lambda text: f"q{text.strip()}z"
)


@given(WORDS, st.sampled_from(["{}", "x {} y", "/srv/{}/f", "u@{}:22", "\n{}\t", "({})"]))
def test_a_value_is_found_in_every_encoding(value: str, around: str) -> None:
    change = Replacement({value: "host-A"}, {})
    plain = around.format(value)
    encodings = (
        lambda text: text, json.dumps, html.escape, lambda text: quote(text, safe=""), quote,
        lambda text: base64.b64encode(f"some text: {text} end".encode()).decode(),
    )  # fmt: skip
    for encode in encodings:
        found = change.text(encode(plain))
        assert encode(around.format("host-A")) == found, (encode, plain)
    packed = change.data(gzip.compress(plain.encode()))
    assert gzip.decompress(packed) == around.format("host-A").encode()
    assert value in variants(value)


@pytest.mark.parametrize(("name", "text", "expected"), [
    ("a", "a database of a host, root@a", "a database of a host, root@N"),
    ("data", "data written to /srv/data/x", "data written to /srv/N/x"),
    ("vm", "a vm\nvm\nLinux vm 6.1.0-28 #1", "a vm\nN\nLinux N 6.1.0-28 #1"),
])  # fmt: skip
def test_weak_values(name: str, text: str, expected: str) -> None:
    assert Replacement({}, {name: "N"}).text(text) == expected


def test_tags_of_html_in_a_note_stay_and_names_in_them_are_replaced() -> None:
    note = "<b>web-1</b><br/> <web-1> <div title=web-1>disk</div> in /srv/zqb</pre>, a <strong>strong</strong> web-1"
    redaction = Redaction(texts=True)
    redaction.add_host("web-1", None)
    redaction.add_text(note)
    assert redaction.replacement.text(note) == note.replace("web-1", "host-A").replace("zqb", "path-A")
    for value in ("b", "summary"):
        assert Replacement({value: "N"}, {}).text(f"<x{value}> </{value}> {value}") == f"<x{value}> </{value}> N"


IPERF3 = SYSBENCH.parents[2] / "iperf3/3.12/tcp_json.stdout"
PASTED = f"""zqcustomer says that the database of the bank is slow since Monday
[zqroot@zqrhel9 zqdata]# uptime
zqzshhost% ls
\u279c  zqproject fio --version
[zqroot@zqrhel9 zqdata]# sysbench cpu --threads=2 run
zqcomment between the command and its output
{SYSBENCH.read_text()}Regards, zqcolleague of the team
"""


def planted_elsewhere(workstation: Workstation, folder: Path) -> list[str]:
    """Import outputs of others with canaries beside and in them, and record a run of a command of the user."""
    content = json.loads(IPERF3.read_text())
    content |= {"title": "zqtitle of the customer", "extra_data": {"note": "zqextra"}, "zqkey": "zqvalue"}
    content["start"] |= {"extra_data": "zqextra", "title": "zqtitle of the customer"}
    (folder / "zqfile.json").write_text(json.dumps(content))
    (folder / "zqfile.txt").write_text(PASTED)
    runs = [one.run for one in workstation.import_outputs(sorted(folder.glob("zqfile.*")))]
    assert len(runs) == 2
    assert all(runs)
    own = "20260102-000000-0001"
    words = ("sh", "zqscript.sh", "zqargument", "--mode=zqmode")
    values = {
        "command": "sh zqscript.sh zqargument --mode=zqmode",
        "metric": "zqrows per s",
        "figure": "pattern",
        "pattern": r"zqout=([0-9.]+)",
    }
    step = make_step("command", values, name="zqstep")
    figures = (Figure(figure_metric(step.values), 5.0, labels(n="zqlabel")), Figure(WALL_TIME, 1.0))
    one = replace(trial(1, step="zqstep", version="zqversion 1"), commands=(Command(words),))
    with workstation._store.recorder(own) as writing:
        for event in (
            RunStarted(own, Plan("zqplan", ("web-1",), (step,)), "2026-01-02T00:00:00+00:00"),
            *trial_events(replace(one, tool_version=None), figures),
            RunEnded(own, State.DONE),
        ):
            writing.record(event)
    workstation.lock([own, *runs], "zqlocked for the audit")
    return [*runs, own]


@pytest.fixture
def elsewhere(workstation: Workstation, tmp_path: Path) -> list[str]:
    folder = tmp_path / "outputs"
    folder.mkdir()
    return planted_elsewhere(workstation, folder)


def unpacked(content: bytes) -> bytes:
    """Return a file with the streams of a PDF and the library of a report unpacked."""
    packed = re.compile(rb"stream\r?\n(x.*?)\nendstream|base64,([A-Za-z0-9+/=]+)", re.DOTALL)
    parts = [packed.sub(b"", content)]
    for stream, text in packed.findall(content):
        # A stream of bytes may end with what looks like a line break: zlib knows where it ends.
        parts.append(zlib.decompressobj().decompress(stream) if stream else gzip.decompress(base64.b64decode(text)))
    return b"".join(parts)


@pytest.mark.slow
def test_no_canary_of_others_is_in_any_export(workstation: Workstation, elsewhere: list[str], tmp_path: Path) -> None:
    library = workstation.library_path
    several = ("csv", "parquet", "pdf", "svg", "library", "html", "markdown", "run-json")
    for run in elsewhere:
        out = tmp_path / f"out-{run}"
        out.mkdir()
        commands = any(one.trial.commands for one in workstation.load(run).trials)
        given = [
            word
            for kind in (*several, "ticket", *["script"] * commands)
            for word in (f"--{kind}", str(out / f"x.{kind}"))
        ]
        if run == elsewhere[-1]:
            given += ["--hyperfine", str(out / "x.hyperfine")]
        ran = benchwright("--store", library, "export", run, "--redact", *given)
        assert ran.status == DONE, ran.err
        assert len(list(out.iterdir())) >= len(given) // 2
        for path in out.iterdir():
            found = CANARY.findall(unpacked(path.read_bytes()))
            assert not found, (run, path, found)


@pytest.mark.slow
def test_titles_and_imported_text_are_kept_on_request_only(
    workstation: Workstation, elsewhere: list[str], tmp_path: Path
) -> None:
    library, out = workstation.library_path, tmp_path / "x.sqlite3"
    words: list[str | Path] = ["--store", library, "export", *elsewhere, "--redact", "--library", out]
    assert benchwright(*words).status == DONE
    assert b"since Monday" not in out.read_bytes()
    assert b"events per second" not in out.read_bytes()
    out.unlink()
    kept = benchwright(*words, "--keep", "imported", "--keep", "texts")
    assert kept.status == DONE, kept.err
    content = out.read_bytes()
    assert b"events per second" in content
    assert b"between the command" in content
    for name in (b"zqroot", b"zqrhel9", b"zqdata", b"zqzshhost", b"zqproject", b"zqtitle", b"zqextra"):
        assert name not in content, name


def test_the_preview_names_origins_and_what_stays(workstation: Workstation, elsewhere: list[str]) -> None:
    preview = workstation.redaction_preview([RUN, *elsewhere])
    by_value = {one.value: one for one in preview.replaced}
    assert "host of the plan" in by_value[HOST].where
    assert "fact block_devices.serial" in by_value["zqblock_devicesserial"].where
    assert {"note", "tags", "run name", "reason of the lock"} <= set(preview.left_out)
    assert sum(one.startswith("the file") for one in preview.left_out) == 2
    stays = {(one.where, one.text) for one in preview.kept}
    assert ("step", "disk random read") in stays
    assert any(where == "command line" and "--rw=randread" in text for where, text in stays)
    assert ("fact cpu.model", "public") in stays
    assert not any(CANARY.search(text.encode()) for _, text in stays)
    assert "Stays: " in preview.text
    assert "step: disk random read" in preview.text


def test_the_command_line_previews_and_redacts(workstation: Workstation, tmp_path: Path) -> None:
    library = workstation.library_path
    shown = benchwright("--store", library, "export", "last", "--preview")
    assert shown.status == DONE, shown.err
    assert f"{HOST} -> host-A" in shown.out
    found = benchwright("--store", library, "export", "last", "--redact", "--csv", tmp_path / "x.csv")
    assert found.status == DONE, found.err
    assert not CANARY.search((tmp_path / "x.csv").read_bytes())


def prose(node: ast.AST) -> Iterator[str]:
    """Yield the texts of several words in a module, without docstrings."""
    documents = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    skipped = {
        id(each.value)
        for one in ast.walk(node)
        if isinstance(one, documents)
        for each in one.body
        if isinstance(each, ast.Expr)
    }
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in skipped:
            yield from re.findall(r"(?s)^.*\S\s+\S.*$", one.value)


def test_no_word_of_this_programs_own_texts_is_taken_for_a_name() -> None:
    root = Path(__file__).parents[2]
    sources = [path for part in ("suites", "app/checks", "app/verdict") for path in (root / part).rglob("*.py")]
    texts = [text for path in sources for text in prose(ast.parse(path.read_text("utf-8")))]
    texts += ["printf awk getconf sort xargs", "higher than a server sustains. Set time to 60 s."]
    assert len(texts) > 3000
    assert {word for text in texts for word in words_of(text) if not is_ordinary(word)} == set()
    assert not {"anna", "alice", "acme", "zqcorp"} & ordinary_words()
    checks: list[Any] = [*DURING_CHECKS, *TRIAL_CHECKS, *(one for suite in SUITES for one in suite.checks)]
    for check in checks:
        text, own = f"{check.title}. {check.why} {check.remedy}", Redaction()
        own.add_text(text)
        assert own.replacement.text(text) == text


def test_the_end_of_a_sentence_is_no_part_of_a_path() -> None:
    redaction = Redaction()
    for text in ("Is /srv/zqdata/zqdb slow?", "Not /srv/zqdata/zqdb.", "/srv/zqdata/zqdb! and --file=/srv/zqdata/zqdb"):
        redaction.add_text(text)
    found = redaction.replacement.text("/srv/zqdata/zqdb? /srv/zqdata/zqdb. /srv/zqdata/zqdb")
    first, second, third = found.split(" ")
    assert (first, second) == (f"{third}?", f"{third}.")
    assert "zq" not in found


def test_a_preview_on_the_command_line_lists_all() -> None:
    number = SHOWN + 20
    replaced = tuple(Redacted("path", f"zqpath{each}", f"path-{each}", 1, ("x",)) for each in range(number))
    kept = tuple(KeptText("note", f"{each} {'word ' * LONGEST}end{each}") for each in range(number))
    preview = RedactionPreview(replaced, (), (), kept, tuple(f"unknown{each}" for each in range(number)))
    whole = "\n".join(preview.lines())
    for word in ("zqpath{}", "end{}", "unknown{}"):
        assert all(re.search(rf"{word.format(each)}\b", whole) for each in range(number))
    assert preview.text.count("and 20 more") == 3
    assert "more" not in whole


def test_an_imported_output_keeps_no_prompt_and_no_word_of_its_command(tmp_path: Path) -> None:
    words = "sysbench cpu --mysql-password=zq1a2b3c -h zqdb7.zqcorp.example --threads=2 run"
    pasted = f"signed, zqmueller\n\nzquser@zqserv-db:~$ {words} > /srv/zqdir/cpu.txt\n{SYSBENCH.read_text()}zqserv-db\n"
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    (one,) = made.import_outputs([OutputText("pasted text", pasted.encode())])
    copy = tmp_path / "copy.sqlite3"
    with made.redacted([one.run]) as source:
        list(source.workstation.export_library(source.runs, copy))
        (trial,) = source.workstation.load(one.run).trials
    made.close()
    assert trial.figures
    assert {"sysbench", "cpu", "--threads=2"} <= set(trial.trial.commands[0].argv)
    assert not re.search(NOT_IN_AN_ID.encode() + rb"zq\w", copy.read_bytes())


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_no_canary_is_drawn(
    workstation: Workstation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Text in an image is glyphs or pixels, which no search of the file finds: what is drawn is recorded."""
    drawn: list[str] = []
    draw = Text.draw

    def recorded(text: Text, *args: Any, **kwargs: Any) -> None:
        drawn.append(text.get_text())
        draw(text, *args, **kwargs)

    monkeypatch.setattr(Text, "draw", recorded)
    workstation.export_image([RUN], tmp_path / f"open.{kind}")
    assert CANARY.search("\n".join(drawn).encode())  # so the recording sees names
    drawn.clear()
    with workstation.redacted([RUN]) as source:
        source.workstation.export_image(source.runs, tmp_path / f"redacted.{kind}")
    assert any("host-A" in text for text in drawn)
    assert not CANARY.findall("\n".join(drawn).encode())


def test_pdf_and_svg_have_no_canary_and_no_date(workstation: Workstation, tmp_path: Path) -> None:
    pdf, svg = tmp_path / "x.pdf", tmp_path / "x.svg"
    library = workstation.library_path
    found = benchwright("--store", library, "export", "last", "--redact", "--pdf", pdf, "--svg", svg)
    assert found.status == DONE, found.err
    assert pdf.read_bytes().startswith(b"%PDF-")
    assert b"<svg " in svg.read_bytes()
    for path in (pdf, svg):
        content = path.read_bytes()
        assert not CANARY.search(unpacked(content))
        assert b"CreationDate" not in content
        assert b"dc:date" not in content


@pytest.mark.parametrize("prompt", [
    "zqzshhost%", "[root@web zqdata]#", "zqfolder on zqbranch ❯",
    "zquser@zqhost ~ λ", "(zqenv) zquser@zqhost:~/zq dir$", "➜  zqfolder git:(zqbranch)", "C:\\zqfolder>",
    "17:03:11 zquser@zqhost ~ #",
])  # fmt: skip
@pytest.mark.parametrize("before", ["", "sudo nice -n 19 "])
def test_the_words_of_a_prompt_are_replaced(prompt: str, before: str) -> None:
    redaction = Redaction()
    redaction.add_prompts(f"{prompt} {before}fio --rw=read\nzqother% ls\n", {"fio"})
    assert "zq" not in redaction.replacement.text(prompt)


@pytest.mark.parametrize("text", [
    "Last login: Mon Nov 23 10:11:12 2026 from zqlogin.zqcorp.example",
    "Last login: Mon Nov 23 10:11:12 2026 from zqlogin",
    "64 bytes from zqpeer.zqcorp.example: icmp_seq=1",
    "mysql -h zqdb -u zquser sales",
    "psql --host zqdb -U zquser sales",
    "serial: S4ZQ93zq",
    "Serial Number:    S4ZQ93zq",
])  # fmt: skip
def test_what_kept_text_names_is_replaced(text: str, workstation: Workstation, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text(f"{text}\n{SYSBENCH.read_text()}")
    (one,) = workstation.import_outputs([tmp_path / "own.txt"])
    assert one.run is not None
    redacted_copy(workstation._store, [one.run], (), tmp_path / "copy.sqlite3", (Keep.IMPORTED,))
    copy = Store(tmp_path / "copy.sqlite3")
    kept = copy.output(one.run, 1)["stdout"].decode()
    copy.close()
    assert "events per second" in kept
    assert "zq" not in kept.casefold()


def test_names_of_files_after_from_stay() -> None:
    redaction = Redaction()
    redaction.add_named("copied from a.out and from results.txt, serial: 1")
    assert redaction.replacement.text("a.out results.txt 1") == "a.out results.txt 1"


def replaced_in_output(text: str) -> str:
    redaction = Redaction()
    redaction.add_output(text, frozenset())
    return redaction.replacement.text(text)


@pytest.mark.parametrize(("text", "expected"), [
    ("connected to 203.0.113.9:5201", "connected to address-A:5201"),
    ("64 bytes from 203.0.113.9: icmp_seq=1", "64 bytes from address-A: icmp_seq=1"),
    ("64 bytes from 2001:db8::1: icmp_seq=1", "64 bytes from address-A: icmp_seq=1"),
    ("TCP [::ffff:203.0.113.9]:5201", "TCP [::ffff:address-A]:5201"),
    ("203.0.113.9 ip-203-0-113-9 9.113.0.203.in-addr.arpa", "address-A ip-address-A address-A.in-addr.arpa"),
    ("2001:db8::99 2001:0DB8:0000:0000:0000:0000:0000:0099 2001:db8:0:0:0:0:0:99", "address-A address-A address-A"),
    ("02:00:5e:00:53:01 02-00-5E-00-53-01 0200.5e00.5301 02005e005301", "MAC-A MAC-A MAC-A MAC-A"),
    ("02:00:5e:00:53:01 fe80::0:5eff:fe00:5301%eth0", "MAC-A address-A%eth0"),
    ("Linux 6.1.0-28-amd64 (zqhost7) \t01/02/26", "Linux 6.1.0-28-amd64 (host-A) \t01/02/26"),
    ("Linux zqhost7 6.1.0-28", "Linux host-A 6.1.0-28"),
    ("   System: zqhost7: GNU/Linux", "   System: host-A: GNU/Linux"),
    ("  hostname: zqhost7.zqcorp.example", "  hostname: host-A"),
    ("https://zquser:zqpa55@zqhost7.example/", "https://user-A:secret-A@host-A/"),
    ("/U\x73ers/zquser/x C:\\Users\\zqother", "/U\x73ers/user-A/x C:\\Users\\user-B"),  # else a path of a developer
    ("arn:aws:ec2:eu-west-1:123456789012:volume/vol-0abcdef12", "arn:id-A:volume/id-B"),
    ("projects/zqproject/zones/europe", "projects/id-A/zones/europe"),
    ("/dev/disk/by-uuid/1A2B-3C4D", "/dev/disk/by-uuid/id-A"),
])  # fmt: skip
def test_one_value_has_one_name_in_each_spelling(text: str, expected: str) -> None:
    assert replaced_in_output(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("MYSQL_PWD=20231225 x 20231225", "MYSQL_PWD=secret-A x secret-A"),
    ("--password 47114711", "--password secret-A"),
    ('"host=db1 password=90210 dbname=x" 90210', '"host=host-A password=secret-A dbname=x" 90210'),
    ('pgbench "host=storage dbname=x" # storage', 'pgbench "host=host-A dbname=x" # storage'),
    ("PGHOST=storage pgbench -c 8; redis-cli -p 1 -h web", "PGHOST=host-A pgbench -c 8; redis-cli -p 1 -h host-B"),
    ("sysbench --mysql-host storage; iperf3 -P 2 -c web", "sysbench --mysql-host host-A; iperf3 -P 2 -c host-B"),
    ("df -h storage; pgbench -h\nstorage", "df -h storage; pgbench -h\nstorage"),
    ("sudo -S dmesg <<< 'backup' # backup", "sudo -S dmesg <<< 'secret-A' # backup"),
    ("echo backup | sudo -kS dmesg; cat <<< backup", "echo secret-A | sudo -kS dmesg; cat <<< backup"),
    ("http://localhost/data?x=acmecorp&n=3#acmecorp", "http://localhost/data?x=word-A&n=3#word-A"),
    ("SECRET_KEY=backup tar backup", "SECRET_KEY=secret-A tar backup"),
    ("'PGPASSWORD=my own pass' --no-password run", "'PGPASSWORD=secret-A' --no-password run"),
    ("PGPASSWORD=$X --token=benchmark", "PGPASSWORD=$X --token=secret-A"),
    ('{"password": "secret", "pass": 1}', '{"password": "secret-A", "pass": secret-B}'),
    ("mysqladmin -uroot -pbackup; redis-cli -a 123", "mysqladmin -uroot -psecret-A; redis-cli -a secret-B"),
    ("curl -u bob:backup -H 'Authorization: Basic test'", "curl -u bob:secret-A -H 'Authorization: Basic secret-B'"),
    ("password: backup\nX-Api-Key: benchmark", "password: secret-A\nX-Api-Key: secret-B"),
    ("ssh://bob@storage:22/", "ssh://user-A@host-A:22/"),
    ("http://bob:12345678@x.io/", "http://user-A:secret-A@host-A/"),
    ("redis://:hello@web:1/0 http://localhost/", "redis://:secret-A@host-A:1/0 http://localhost/"),
    ("http://storage.backup.local:9000/ ssh://server2.test/", "http://host-A:9000/ ssh://host-B/"),
    ("/data/customer/secret/volume1 read/secret secret", "/data/path-A/path-B/path-C read/secret secret"),
    ("/mnt/model_tools/v1/python /usr/bin/python", "/mnt/path-A/path-B/path-C /usr/bin/python"),
])  # fmt: skip
def test_what_is_named_secret_a_host_or_a_folder_is_replaced_even_if_ordinary(text: str, expected: str) -> None:
    """Words of the help and numbers stay elsewhere; a secret stays nowhere beside its name."""
    redaction = Redaction()
    redaction.add_text(text)
    assert redaction.replacement.text(text) == expected


def test_a_host_is_replaced_among_the_words_of_a_command() -> None:
    redaction = Redaction()
    redaction.add_text("redis-benchmark -h storage -t set")
    words = ["redis-benchmark", "-h", "storage", "-t", "set"]
    assert redaction.replacement.json(words) == ["redis-benchmark", "-h", "host-A", "-t", "set"]


def test_a_secret_is_replaced_among_the_words_of_a_command() -> None:
    redaction = Redaction()
    redaction.add_text("x --password 'own text'; redis-cli -a backup")
    words = ["x", "--password", "own text", "own text"]
    assert redaction.replacement.json(words) == ["x", "--password", "secret-A", "own text"]
    assert redaction.replacement.json(["redis-cli", "-a", "backup", "x"]) == ["redis-cli", "-a", "secret-B", "x"]
    assert [(one.kind, one.value) for one in redaction.replaced()] == [("secret", "backup"), ("secret", "own text")]


def test_options_of_kernels_and_mounts_keep_no_name() -> None:
    """Values of options that are no paths name hosts, volumes and accounts, too."""
    kernel = (
        "BOOT_IMAGE=/vmlinuz root=LABEL=zqlabel hostname=zqhost1 ip=10.0.0.1::10.0.0.254:255.255.255.0:zqhost2:eth0:off"
        " rd.lvm.lv=zqgroup/root ds=nocloud;h=zqhost3;s=http://zqhost4/ iscsi_initiator=iqn.2001-01.com.zqcorp:zqini"
        " rd.luks.name=aaaaaaaa-1234-1234-1234-123456789012=zqcrypt BOOTIF=01-02-00-5e-00-53-01 mitigations=off quiet"
    )
    mount = "rw,username=zquser,domain=ZQCORP,mon_addr=10.0.0.1:6789/10.0.0.2:6789,secret=zqsecret,uid=1000"
    redaction, facts = Redaction(), canary_facts()
    system = replace(facts.system, command_line=kernel)
    file_systems = tuple(replace(one, options=mount) for one in facts.file_systems)
    redaction.add_facts(replace(facts, system=system, file_systems=file_systems))
    found = redaction.replacement.text(f"{kernel} {mount}")
    assert not re.search(rf"(?i){NOT_IN_AN_ID}zq\w|10\.0\.0|02-00-5e|aaaaaaaa", found), found
    assert all(each in found for each in ("mitigations=off quiet", ":eth0:off", "nocloud", "uid=1000")), found


def test_names_with_digits_in_labels_of_the_host_are_replaced() -> None:
    redaction = Redaction()
    redaction.add_labels(
        [("device", "zqgroup0-zqdata1"), ("interface", "br-zqnet2"), ("device", "nvme0n1"), ("size", "zq4k")]
    )
    text = "zqgroup0-zqdata1 br-zqnet2 nvme0n1 zq4k"
    assert redaction.replacement.text(text).split() == ["name-A", "name-B", "nvme0n1", "zq4k"]


def test_the_sections_of_a_job_file_are_replaced_in_labels_and_file_names() -> None:
    redaction = Redaction()
    redaction._add_step(make_step("fio-job", {"job": "[zqjob7-write]\nrw=randwrite\n"}))
    redaction.add_labels([("job", "zqother8")])
    found = redaction.replacement.text("job=zqjob7-write;x /var/tmp/zqjob7-write.0.0 zqother8 rw=randwrite")
    assert found == "job=name-A;x /var/tmp/name-A.0.0 name-B rw=randwrite"


@pytest.mark.parametrize(("suite", "values", "text"), [
    ("pgbench", {"address": "zqhost7.zqcorp.example", "database": "zqsales", "user": "zquser"},
     "pgbench -h zqhost7.zqcorp.example -U zquser zqsales"),
    ("fio", {"directory": "/srv/zq corp/zqdir"}, "fio --directory '/srv/zq corp/zqdir' and zq corp"),
])  # fmt: skip
def test_texts_of_parameters_are_replaced_in_commands(suite: str, values: dict[str, Any], text: str) -> None:
    redaction = Redaction()
    redaction._add_step(make_step(suite, values))
    found = redaction.replacement.text(text)
    assert not re.search(rf"{NOT_IN_AN_ID}zq\w|zq corp", found), found


@pytest.mark.parametrize(("suite", "parameter"), [
    (suite, one.name) for suite in SUITES for one in suite.parameters if one.type in {Type.TEXT, Type.LINES}
], ids=lambda one: getattr(one, "id", one))  # fmt: skip
def test_a_word_of_the_user_in_any_parameter_is_replaced(suite: Suite, parameter: str) -> None:
    redaction = Redaction()
    step = make_step(suite.id, {})
    values = {**step.values, parameter: "SECRETVAR=zqtoken99 zqword --mode=zqmode"}
    redaction._add_step(replace(step, values=values))
    found = redaction.replacement.text("zqtoken99 'zqword' zqmode OMP_NUM_THREADS 4k bbr")
    assert "zq" not in found, found
    assert found.endswith("OMP_NUM_THREADS 4k bbr")


@pytest.mark.parametrize("text", [
    "SECRETVAR=zqgrault", "db_password_2=zqgrault", "--api-token=zqgrault", "API_TOKEN_OLD=zqgrault7",
    "-x APIKEY1=zqgrault",
])  # fmt: skip
def test_the_value_of_a_name_with_a_secret_is_replaced(text: str) -> None:
    redaction = Redaction()
    redaction.add_text(text)
    assert "zqgrault" not in redaction.replacement.text(text)


@pytest.mark.quick(1)
@pytest.mark.parametrize("keep", [(), ("--keep", "texts")])
def test_the_reason_to_compare_runs_that_differ_is_redacted(
    workstation: Workstation, tmp_path: Path, keep: tuple[str, ...]
) -> None:
    other = "20260103-000000-0001"
    record(workstation, Made(other, iops=(1000.0, 1010.0), host="web-1"))
    reason = "zquser@zqbox9 said so of 203.0.113.5:22"
    files = [tmp_path / "x.html", tmp_path / "x.md", tmp_path / "x.svg"]
    kinds = [
        word for kind, path in zip(("html", "markdown", "svg"), files, strict=True) for word in (f"--{kind}", path)
    ]
    library = workstation.library_path
    ran = benchwright("--store", library, "export", RUN, other, "--redact", *keep, "--overrule", reason, *kinds)
    assert ran.status == DONE, ran.err
    for path in files:
        content = path.read_bytes()
        assert b"Overruled: " in content
        assert (b"reason left out" in content) is not bool(keep)
        assert not re.search(rb"zqbox|zquser|203\.0\.113\.5", content), path
    if not keep:
        given = ComparisonCriteria(overruled=reason)
        with workstation.redacted([RUN, other], reason=reason) as source:
            source.workstation.export_html(source.runs, tmp_path / "y.html", source.criteria(given), redacted=True)
        assert b"Overruled: reason left out" in (tmp_path / "y.html").read_bytes()


def test_a_tag_that_names_a_host_of_a_later_run_is_replaced_as_a_host() -> None:
    redaction = Redaction()
    redaction._text("zq-two", "note", "")
    redaction.add_host("zq-two", None)
    assert redaction.replacement.text("on zq-two now") == "on host-A now"
    assert redaction.inside_texts.text("zq-two") == "host-A"
