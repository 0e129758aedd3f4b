"""Investigations: ordered entries with notes, results that are read from the runs, and a report that loses nothing."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import html5lib
import pytest

from app.investigation import (
    CONCLUSION,
    LONGEST_TEXT,
    MOST_ENTRIES,
    NAME,
    QUESTION,
    ChangedElsewhereError,
    EntryKind,
    Investigation,
    InvestigationError,
    text_entry,
)
from app.library_rows import Annotation
from app.services import Workstation
from app.store.errors import StoreError
from suites.verdict import Trust
from tests.app.test_run_transfer import change as change_file
from tests.app.test_run_transfer import imported
from tests.program import BAD_INPUT, DONE, benchwright
from tests.widgets.library_runs import Made, record

FIRST = Made("20260101-000000-0001", trust=Trust.VALID, samples=20, host="web-1", name="nightly disk")
SECOND = Made(
    "20260102-000000-0002", iops=[one * 1.2 for one in (412e3, 409e3, 415e3, 411e3, 413e3, 410e3, 414e3, 412e3)],
    samples=20, host="web-1", name="nightly disk", trust=Trust.DOUBTFUL,
)  # fmt: skip
TEXT, ASKED = "Nothing else was changed.", "faster since the kernel upgrade?"
HOSTILE = "<script>alert(1)</script> {{ 7*7 }} | **bold** [x](javascript:1)\n\n# head"


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    record(made, FIRST, SECOND)
    yield made
    made.close()


@pytest.fixture
def found(workstation: Workstation) -> Investigation:
    """An investigation with a run, a comparison and a text."""
    made = workstation.begin_investigation("Kernel upgrade", f"Is web-1 {ASKED}")
    entries = [
        workstation.entry_of([FIRST.run_id], "Before, on web-1."),
        workstation.entry_of([FIRST.run_id, SECOND.run_id], "The change."),
        text_entry(TEXT),
    ]
    return workstation.change_investigation(made.id, lambda one: one.added(entries).written(CONCLUSION, "Yes."))[1]


def notes(found: Investigation) -> list[str]:
    return [entry.note for entry in found.entries]


def test_entries_are_moved_and_removed_and_each_can_be_undone(workstation: Workstation, found: Investigation) -> None:
    first, second, third = (entry.id for entry in found.entries)
    moved = workstation.change_investigation(found.id, lambda one: one.moved(third, 0))[1]
    assert [entry.id for entry in moved.entries] == [third, first, second]
    before, after = workstation.change_investigation(found.id, lambda one: one.without([first]))
    assert [entry.id for entry in after.entries] == [third, second]
    back = workstation.change_investigation(found.id, lambda one: one.added([before.entry(first)], 1))[1]
    assert back.entries == moved.entries
    deleted = workstation.delete_investigation(found.name)
    assert workstation.investigations() == []
    workstation.restore_investigation(deleted)
    assert workstation.investigation(found.name).entries == moved.entries


def test_two_writers_lose_nothing(workstation: Workstation, found: Investigation, tmp_path: Path) -> None:
    other = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")

    def write(of: Workstation, mark: str) -> None:
        for number in range(20):
            of.change_investigation(found.id, lambda one: one.added([text_entry(f"{mark}{number}")]))  # noqa: B023

    threads = [threading.Thread(target=write, args=(of, mark)) for of, mark in ((workstation, "a"), (other, "b"))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert set(notes(workstation.investigation(found.id))[3:]) == {f"{mark}{at}" for mark in "ab" for at in range(20)}
    base = found.question
    other.change_investigation(found.id, lambda one: one.written(QUESTION, "Theirs?", base))
    with pytest.raises(ChangedElsewhereError) as refused:
        workstation.change_investigation(found.id, lambda one: one.written(QUESTION, "Ours?", base))
    assert refused.value.stored == "Theirs?"
    assert workstation.investigation(found.id).question == "Theirs?"
    workstation.change_investigation(found.id, lambda one: one.written(QUESTION, "Ours?", "Theirs?"))
    assert other.investigation(found.id).question == "Ours?"
    other.close()


def test_a_deleted_run_is_named_as_deleted(workstation: Workstation, found: Investigation) -> None:
    with pytest.raises(StoreError, match=f"{FIRST.run_id} is part of the investigation “"):
        workstation.delete(FIRST.run_id)
    assert workstation._store.kept()[FIRST.run_id] == f"investigation {found.name}"
    with workstation._store.database.writing() as connection:  # as in a library that lacks the run
        connection.exec_driver_sql("DELETE FROM runs WHERE id = ?", (FIRST.run_id,))
    run, comparison, text = workstation.entry_results(workstation.investigation(found.id).entries)
    assert run.problem == f"Run deleted: {FIRST.run_id}."
    assert "Nightly disk on web-1" in run.title
    assert comparison.deleted == (FIRST.run_id,)
    assert (text.problem, text.entry.note) == ("", TEXT)


def test_results_are_those_of_the_runs_now(workstation: Workstation, found: Investigation) -> None:
    run, comparison, _ = workstation.entry_results(found.entries)
    assert run.trust is Trust.VALID
    assert run.headline.startswith("412.0k IOPS")
    assert comparison.comparison is not None
    assert comparison.trust is Trust.DOUBTFUL
    workstation.close()
    change_file(workstation.library_path, "UPDATE figures SET value = value / 2")
    change_file(workstation.library_path, "UPDATE verdicts SET level = 'invalid'")
    run, *_ = workstation.entry_results(found.entries)
    assert run.trust is Trust.INVALID
    assert run.headline.startswith("206.00k IOPS")


def test_a_baseline_is_resolved_to_the_runs_that_it_has(workstation: Workstation) -> None:
    workstation.pin(FIRST.run_id, "good")
    entry = workstation.entry_of(["baseline:good", "last"])
    workstation.pin(SECOND.run_id, "good")
    assert entry.selectors == (FIRST.run_id, SECOND.run_id)
    table = next(one.selector for one in workstation.baselines() if one.built_in)
    assert workstation.entry_of([table, "last"]).selectors[0] == table
    with pytest.raises(InvestigationError):
        workstation.entry_of([table])


def test_bounds(workstation: Workstation, found: Investigation) -> None:
    with pytest.raises(InvestigationError):
        found.written(CONCLUSION, "x" * (LONGEST_TEXT + 1))
    with pytest.raises(InvestigationError):
        found.added([text_entry("x")] * 1 + [text_entry("y") for _ in range(MOST_ENTRIES)])
    with pytest.raises(InvestigationError):
        workstation.begin_investigation("  ")
    with pytest.raises(InvestigationError):
        workstation.begin_investigation(found.name)
    assert found.written(CONCLUSION, "\ud800").conclusion == "?"
    assert found.written(CONCLUSION, "a\r\n\tb\rc\n").conclusion == "a\n\tb\nc"
    for control in "\0\x1b\x7f\x9b":
        for where in (NAME, QUESTION, CONCLUSION, found.entries[0].id):
            with pytest.raises(InvestigationError, match="control character"):
                found.written(where, f"a{control}b")
        with pytest.raises(InvestigationError, match="control character"):
            found.added([text_entry(control)])
    assert found.written(CONCLUSION, "👩‍💻 שלום").conclusion == "👩‍💻 שלום"


def test_a_stored_text_with_control_characters_is_read(workstation: Workstation, found: Investigation) -> None:
    workstation.close()
    change_file(workstation.library_path, "UPDATE investigations SET content = replace(content, 'The ', 'The\\u001b ')")
    read = workstation.investigation(found.id)
    assert [entry.note for entry in read.entries] == ["Before, on web-1.", "The\ufffd change.", TEXT]
    entry = read.entries[1]
    workstation.change_investigation(found.id, lambda one: one.without([entry.id]))
    assert workstation.change_investigation(found.id, lambda one: one.added([entry], 1))[1].entries == read.entries


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"PK\x03\x04\x00", b"x" * (LONGEST_TEXT + 1), b"x" * 10_000_000])
def test_standard_input_is_text_and_bounded(workstation: Workstation, found: Investigation, data: bytes) -> None:
    workstation.close()
    refused = benchwright(
        "--store", workstation.library_path, "investigation", "add", found.id, "--text", "-", stdin=data
    )
    assert (refused.status, refused.out) == (BAD_INPUT, "")
    assert "nothing was stored" in refused.err
    assert workstation.investigation(found.id) == found


def test_html_report_is_ordered_valid_and_imported(
    workstation: Workstation, found: Investigation, tmp_path: Path
) -> None:
    path = workstation.export_investigation(found.id, tmp_path / "r.html", "html")
    text = path.read_text()
    html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    places = [text.index(part) for part in (
        "<h2>Question</h2>", ASKED, "What was done",
        "1. Nightly disk", "Before, on web-1.", "412.0k IOPS",
        "<svg", "2. Nightly disk", "The change.", "3. Note", "<h2>Conclusion</h2>", "Yes.",
    )]  # fmt: skip
    assert places == sorted(places)
    target = Workstation(tmp_path / "target.sqlite3", tmp_path / "hosts.toml")
    assert imported(target, path).added == (f"investigation {found.name}",)
    assert target.investigations() == [found]
    assert list(target.entry_results(found.entries)) == list(workstation.entry_results(found.entries))
    assert imported(target, path).added == ()
    target.close()


@pytest.mark.slow
def test_redacted_reports_have_no_name_and_the_texts(
    workstation: Workstation, found: Investigation, tmp_path: Path
) -> None:
    files = [("html", tmp_path / "r.html"), ("markdown", tmp_path / "r.md"), ("pdf", tmp_path / "r.pdf")]
    workstation.export_investigation_as(found.id, files)
    for kind, path in files[:2]:
        text = path.read_text()
        assert "web-1" not in text, kind
        assert ASKED in text
        assert "host-A" in text
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")
    target = Workstation(tmp_path / "target.sqlite3", tmp_path / "hosts.toml")
    imported(target, tmp_path / "r.html")
    (copy,) = target.investigations()
    assert "web-1" not in json.dumps([copy.question, *copy.texts])
    assert [one.problem for one in target.entry_results(copy.entries)] == ["", "", ""]
    target.close()


@pytest.mark.slow
def test_an_address_in_a_text_is_replaced_and_the_text_is_previewed(
    workstation: Workstation, found: Investigation, tmp_path: Path
) -> None:
    note = "Compared with 203.0.113.77 at night."
    workstation.change_investigation(found.id, lambda one: one.written(CONCLUSION, note))
    files = [("html", tmp_path / "r.html"), ("markdown", tmp_path / "r.md")]
    workstation.export_investigation_as(found.id, files)
    for kind, path in files:
        assert "203.0.113.77" not in path.read_text(), kind
        assert "at night." in path.read_text(), kind
    with workstation.redacted_investigation(found.id) as source:
        assert any("at night." in one.text for one in source.preview().kept)


def test_a_redacted_text_that_repeats_a_text_of_a_run_stays(workstation: Workstation, tmp_path: Path) -> None:
    asked, note, tag = "Is web-1 as fast after the kernel upgrade?", "The firmware of web-1 is the same.", "zq-tag"
    record(workstation, replace(FIRST, run_id="20260103-000000-0003", question=asked, trust=None))
    workstation.annotate({FIRST.run_id: Annotation(note=note, tags=(tag,))})
    made = workstation.begin_investigation("Questions", asked)
    entries = [workstation.entry_of([one], note) for one in (FIRST.run_id, "20260103-000000-0003")]
    workstation.change_investigation(
        made.id, lambda one: one.added(entries).written(CONCLUSION, f"Yes, see {tag} at 203.0.113.7.")
    )
    workstation.export_investigation_as(made.id, [("html", path := tmp_path / "r.html")])
    target = Workstation(tmp_path / "target.sqlite3", tmp_path / "hosts.toml")
    imported(target, path)
    copy, named = target.investigation(made.id), {"web-1": "host-A", "203.0.113.7": "address-A"}
    assert copy.question == asked.replace("web-1", named["web-1"])
    assert notes(copy) == [note.replace("web-1", named["web-1"])] * 2
    assert copy.conclusion == f"Yes, see {tag} at {named['203.0.113.7']}."
    assert [target._store.load(run).plan.question for run in copy.runs] == ["", ""]
    target.close()


def test_markup_is_text_in_every_format(workstation: Workstation, found: Investigation, tmp_path: Path) -> None:
    first = found.entries[0].id
    workstation.change_investigation(
        found.id, lambda one: one.written(QUESTION, HOSTILE).written(first, HOSTILE).written("name", HOSTILE)
    )
    html = workstation.export_investigation(found.id, tmp_path / "r.html", "html").read_text()
    assert "<script" not in html
    assert "{{ 7*7 }}" in html
    markdown = workstation.export_investigation(found.id, tmp_path / "r.md", "markdown").read_text()
    assert "<script" not in markdown.replace("\\<", "")
    assert "\n# head" not in markdown
    workstation.export_investigation(found.id, tmp_path / "r.pdf", "pdf")


def test_merge_adds_names_and_refuses(workstation: Workstation, found: Investigation, tmp_path: Path) -> None:
    own = Workstation(tmp_path / "own.sqlite3", tmp_path / "own" / "hosts.toml")
    *_, last = own.merge_library(workstation.library_path)
    assert last.added == (f"investigation {found.name}",)
    assert own.investigations() == [found]
    own.change_investigation(found.id, lambda one: one.written(CONCLUSION, "No."))
    *_, last = own.merge_library(workstation.library_path)
    assert last.refused == (f"investigation {found.name}: this library has another version of it",)
    assert own.investigation(found.id).conclusion == "No."
    workstation.close()
    change_file(workstation.library_path, "UPDATE investigations SET id = 'x', content = '[]'")
    *_, last = own.merge_library(workstation.library_path)
    (refused,) = last.refused
    assert refused.startswith(f"investigation {found.name}: ")
    own.close()


MALFORMED = {
    "other": ("{", "JSON"),
    "fields": (json.dumps({"format": "benchwright-investigation/1", "id": "fields", "name": 5}), "name"),
    "runs": (
        json.dumps({"format": "benchwright-investigation/1", "id": "runs", "name": "n", "entries": [{
            "id": "e", "kind": "run", "selectors": []}]}),
        "0 runs",
    ),
}  # fmt: skip
"""Stored contents by id, with a word of the reason why each cannot be read."""


@pytest.fixture
def malformed(workstation: Workstation, found: Investigation) -> Workstation:
    with workstation._store.database.writing() as connection:
        for number, (content, _) in MALFORMED.items():
            values = (number, f"name of {number}", "2026-01-01", content)
            connection.exec_driver_sql("INSERT INTO investigations VALUES (?, ?, ?, ?)", values)
    return workstation


def test_malformed_investigations_hide_no_other_and_are_named(malformed: Workstation, found: Investigation) -> None:
    assert malformed.investigations() == [found]
    unreadable = {one.id: one for one in malformed.unreadable_investigations()}
    assert set(unreadable) == set(MALFORMED)
    for number, one in unreadable.items():
        assert one.name == f"name of {number}"
        assert MALFORMED[number][1] in one.reason
    with pytest.raises(StoreError, match=r"name of other.*JSON"):
        malformed.investigation("other")
    with pytest.raises(InvestigationError):
        malformed.begin_investigation("name of other")
    assert malformed.change_investigation(found.id, lambda one: one.written(CONCLUSION, "No."))[1].conclusion == "No."
    assert malformed._store.kept()[FIRST.run_id] == f"investigation {found.name}"
    malformed.close()
    listed = benchwright("--store", str(malformed.library_path), "investigation", "list")
    assert listed.status == DONE
    assert found.name in listed.out
    assert all(f"name of {number}" in listed.err for number in MALFORMED)
    deleted = benchwright("--store", str(malformed.library_path), "investigation", "delete", "name of other")
    assert deleted.status == DONE
    assert {one.id for one in malformed.unreadable_investigations()} == set(MALFORMED) - {"other"}


def test_an_import_names_malformed_investigations_on_either_side(malformed: Workstation, tmp_path: Path) -> None:
    own = Workstation(tmp_path / "own.sqlite3", tmp_path / "own" / "hosts.toml")
    with own._store.database.writing() as connection:
        values = ("other", "mine", "2026-01-01", "[]")
        connection.exec_driver_sql("INSERT INTO investigations VALUES (?, ?, ?, ?)", values)
    malformed.close()
    last = imported(own, malformed.library_path)
    assert len(last.runs) == 2
    assert len(last.added) == 1
    assert {one.partition(": ")[0] for one in last.left_out} == {f"investigation name of {one}" for one in MALFORMED}
    assert [one.name for one in own.unreadable_investigations()] == ["mine"]
    own.close()


def test_the_longest_text_is_read_again(workstation: Workstation, found: Investigation) -> None:
    text = "x" * LONGEST_TEXT
    workstation.change_investigation(found.id, lambda one: one.written(CONCLUSION, text))
    assert workstation.investigation(found.id).conclusion == text


def test_more_text_than_can_be_read_again_is_refused(workstation: Workstation, found: Investigation) -> None:
    texts = [text_entry("\u4e00" * LONGEST_TEXT) for _ in range(90)]
    with pytest.raises(InvestigationError):
        workstation.change_investigation(found.id, lambda one: one.added(texts))
    assert workstation.investigation(found.id) == found


def test_it_is_part_of_a_backup_and_seen_by_other_windows(
    workstation: Workstation, found: Investigation, tmp_path: Path
) -> None:
    before = workstation.library_version()
    workstation.change_investigation(found.id, lambda one: replace(one, conclusion="Perhaps."))
    assert workstation.library_version(before).content != before.content
    list(workstation.back_up(tmp_path / "b.sqlite3"))
    copy = Workstation(tmp_path / "b.sqlite3", tmp_path / "hosts.toml")
    assert copy.investigation(found.id).conclusion == "Perhaps."
    copy.close()


@pytest.mark.slow
def test_the_command_line_does_all_of_it(workstation: Workstation, tmp_path: Path) -> None:
    workstation.close()
    library = ("--store", str(workstation.library_path), "investigation")

    def done(*words: str) -> str:
        ran = benchwright(*library, *words)
        assert (ran.status, ran.err) == (DONE, "")
        return ran.out

    done("new", "disk", "--question", "Faster?")
    done("add", "disk", FIRST.run_id, SECOND.run_id[:17], "--note", "both")
    done("add", "disk", FIRST.run_id, "last", "--compare", "--at", "1")
    done("add", "disk", "--text", "A remark.")
    done("move", "disk", "4", "1")
    done("note", "disk", "2", "compared")
    done("remove", "disk", "4")
    done("conclude", "disk", "Yes.")
    shown = json.loads(done("show", "disk", "--json"))
    assert [(one["kind"], one["note"]) for one in shown["entries"]] == [
        (EntryKind.TEXT, "A remark."), (EntryKind.COMPARISON, "compared"), (EntryKind.RUN, "both"),
    ]  # fmt: skip
    assert [one["problem"] for one in shown["results"]] == ["", "", ""]
    assert shown["results"][2]["figures"][0]["value"] == "412.0k IOPS"
    text = done("show", "disk")
    assert text.index("A remark.") < text.index("compared") < text.index("Yes.")
    assert json.loads(done("report", "disk", "--html", str(tmp_path / "r.html"), "--json"))["files"]
    assert "web-1" not in (tmp_path / "r.html").read_text()
    assert "web-1" in done("report", "disk", "--preview")
    assert benchwright(*library, "note", "disk", "9", "x").status == BAD_INPUT
    done("delete", "disk")
    assert json.loads(done("list", "--json")) == []
    assert workstation.load(FIRST.run_id).summary.id == FIRST.run_id


def test_an_unknown_name_is_refused(workstation: Workstation) -> None:
    with pytest.raises(StoreError):
        workstation.investigation("none")
