"""The HTML report is one valid file without references to others, hides what it should, and has the record in it."""

import base64
import gzip
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import html5lib
import pytest

from app.library_rows import Annotation
from app.outputs.files import has_library
from app.report_image.panels import Panel, PlotCurve
from app.services import Workstation
from app.sharing.svg_plots import MOST_POINTS, svg_plot
from app.store import embedded_library
from app.store.errors import StoreError
from suites.verdict import Trust
from tests.app.run_events import IOPS
from tests.app.test_redaction import CANARY, planted
from tests.app.test_run_transfer import content, imported
from tests.program import BAD_INPUT, DONE, FAILED, benchwright
from tests.widgets.library_runs import Made, record

FIRST = Made(
    "20260101-000000-0001", cpu=(8000.0, 8010.0), samples=60, trust=Trust.CAVEATS, host="web-1", output=b"\x00raw \xff"
)
HOSTILE = replace(
    FIRST, run_id="20260102-000000-0002", name='<script>alert(1)</script>"\x00\u202e', question="</main> & {{ 7*7 }}",
    host="<b>h", output=b"</script>",
)  # fmt: skip


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    record(made, FIRST, HOSTILE)
    yield made
    made.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the report of the first run."""
    folder = tmp_path_factory.mktemp("report")
    with closing(Workstation(folder / "runs.sqlite3", folder / "hosts.toml")) as made:
        record(made, FIRST)
        return made.export_html([FIRST.run_id], folder / "r.html").read_bytes()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "target.sqlite3", tmp_path / "hosts.toml")
    yield made
    made.close()


def parsed(path: Path) -> object:
    """Return the tree of a report; raise for an error of HTML."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    return parser.parse(path.read_bytes().decode())


@pytest.mark.parametrize("run", [FIRST.run_id, HOSTILE.run_id])
def test_it_is_valid_small_and_refers_to_nothing_else(workstation: Workstation, tmp_path: Path, run: str) -> None:
    path = workstation.export_html([run], tmp_path / "r.html")
    tree = parsed(path)
    text = path.read_text()
    assert path.stat().st_size < 2**20
    elements = list(tree.iter())  # type: ignore[attr-defined]
    assert not any(one.tag in {"script", "link", "img", "iframe", "object", "b"} for one in elements)
    links = [one.attrib[name] for one in elements for name in ("src", "href", "action", "data") if name in one.attrib]
    assert len(links) == 1
    assert links[0].startswith("data:application/gzip;base64,")
    assert "url(" not in text
    assert "@import" not in text
    policy = next(one for one in elements if one.attrib.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.attrib["content"].split(";"))
    assert rules["default-src"] == "'none'"
    assert "script-src" not in rules
    assert sum(str(one.tag).endswith("}polyline") for one in elements) >= 4
    assert "49" not in text.split("<h1>")[1].split("</h1>")[0]


def test_it_is_imported_as_the_identical_record(workstation: Workstation, target: Workstation, tmp_path: Path) -> None:
    path = workstation.export_html([FIRST.run_id, HOSTILE.run_id], tmp_path / "r.html")
    before = path.read_bytes()
    assert [run.id for run in target.runs_to_import(path)] == [HOSTILE.run_id, FIRST.run_id]
    assert set(imported(target, path).runs) == {FIRST.run_id, HOSTILE.run_id}
    for run in (FIRST.run_id, HOSTILE.run_id):
        assert content(target, run) == content(workstation, run)
    assert path.read_bytes() == before


@pytest.mark.slow
def test_the_users_note_and_tags_are_in_each_report_if_they_are_kept(workstation: Workstation, tmp_path: Path) -> None:
    note = ("before the *upgrade*", "slow since Monday")
    workstation.annotate({FIRST.run_id: Annotation(note="\n".join(note), tags=("cold", "upgrade"))})
    call = ("--store", workstation.library_path)
    shown = benchwright(*call, "show", FIRST.run_id)
    assert all(text in shown.out for text in (*note, "Tags: cold, upgrade"))
    as_json = benchwright(*call, "show", FIRST.run_id, "--json").json
    assert (as_json["note"], as_json["tags"]) == ("\n".join(note), ["cold", "upgrade"])
    for kept, more in ((True, "--no-redact"), (True, "--keep=texts"), (False, "--redact")):
        paths = {kind: tmp_path / f"{kind}{more}" for kind in ("html", "markdown", "ticket")}
        written = benchwright(
            *call, "export", FIRST.run_id, more, *(f"--{kind}={path}" for kind, path in paths.items())
        )
        assert written.status == DONE, written.err
        paths["run-json"] = tmp_path / f"run-json{more}"
        redact = {"--no-redact": [], "--keep=texts": ["--redact", more]}.get(more, [more])
        written = benchwright(*call, "export", FIRST.run_id, "--run-json", paths["run-json"], *redact)
        assert written.status == DONE, written.err
        for kind, path in paths.items():
            text = path.read_text().partition("application/gzip")[0].replace("\\*", "*")
            assert [each in text for each in (*note, "cold")] == [kept] * 3, (kind, more)


def test_no_canary_is_in_a_redacted_report(tmp_path: Path) -> None:
    made = Workstation(tmp_path / "c.sqlite3", tmp_path / "hosts.toml")
    planted(made)
    made.close()
    path = tmp_path / "r.html"
    ran = benchwright("--store", made.library_path, "export", "last", "--html", path)
    assert ran.status == DONE, ran.err
    parsed(path)
    text = path.read_bytes()
    library = re.search(rb"base64,([A-Za-z0-9+/=]+)", text)
    assert library is not None
    assert not CANARY.search(text.replace(library[1], b""))
    assert not CANARY.search(gzip.decompress(base64.b64decode(library[1])))
    assert b"Names, addresses, ids and paths were replaced." in text
    shown = benchwright("--store", tmp_path / "t.sqlite3", "import", path)
    assert "Imported 1 run." in shown.out, shown.err
    plain = benchwright("--store", made.library_path, "export", "last", "--html", path, "--no-redact")
    assert plain.status == DONE, plain.err
    assert CANARY.search(path.read_bytes().replace(library[1], b""))
    assert b"Nothing in it was redacted." in path.read_bytes()


LINK = re.compile(rb'<a id="benchwright-library" download="runs.sqlite3.gz" href="([^"]*)"')


@pytest.mark.parametrize("change", [
    lambda text: b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"),
    lambda text: b"\r\n<!-- saved from url=(0014)about:internet -->\r\n" + text,
    lambda text: text.replace(b"<!DOCTYPE html>", b""),
    lambda text: LINK.sub(rb"<a href='\1' id='benchwright-library'", text),
    lambda text: re.sub(rb"[A-Za-z0-9+/=]{76}", rb"\g<0>\r\n", text),
    lambda text: LINK.sub(lambda link: link[0].replace(b"+", b"&#43;"), text),
    lambda text: text[: text.rindex(b"</footer>")],
])  # fmt: skip
def test_a_report_that_other_programs_saved_or_sent_is_imported(
    report: bytes, target: Workstation, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "r.html"
    content = change(report)
    assert content != report
    path.write_bytes(content)
    assert has_library(path)
    assert imported(target, path).runs == (FIRST.run_id,)


@pytest.mark.parametrize("left", [0.3, 0.6, 0.9])
def test_a_report_without_its_end_is_named_as_such(
    report: bytes, target: Workstation, tmp_path: Path, left: float
) -> None:
    path = tmp_path / "r.html"
    path.write_bytes(report[: int(left * report.rindex(b'">save the library'))])
    with pytest.raises(StoreError, match="its end is missing"):
        imported(target, path)


@pytest.mark.parametrize("change", [
    lambda text: re.sub(rb"base64,[^\"]+", b"base64,AAAA", text),
    lambda text: re.sub(rb"base64,[^\"]+", b"base64," + base64.b64encode(gzip.compress(b"no library")), text),
    lambda text: re.sub(rb"base64,[^\"]+", b"base64,A", text),
    lambda text: text[: len(text) // 2],
    lambda _text: b"<!doctype html><p>Not one of ours.</p>" + b" " * 600,
])  # fmt: skip
def test_a_damaged_report_is_refused(
    report: bytes, target: Workstation, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "r.html"
    path.write_bytes(change(report))
    with pytest.raises(StoreError, match="No run can be imported from"):
        imported(target, path)
    ran = benchwright("--store", target.library_path, "import", path)
    assert ran.status == (BAD_INPUT if has_library(path) else FAILED)  # else it is judged as any other output
    assert target.runs() == []


def test_a_library_that_unpacks_too_large_is_refused(
    workstation: Workstation, target: Workstation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workstation.export_html([FIRST.run_id], tmp_path / "r.html")
    monkeypatch.setattr(embedded_library, "LARGEST_LIBRARY", 1000)
    with pytest.raises(StoreError, match="larger than 1 GiB"):
        imported(target, path)
    monkeypatch.setattr(embedded_library, "LARGEST_REPORT", 1000)
    with pytest.raises(StoreError, match="larger than 256 MiB"):
        imported(target, path)


def test_a_long_curve_keeps_its_extremes(workstation: Workstation) -> None:
    values = tuple(1e6 if number == 7777 else 1000.0 + number % 10 for number in range(20_000))
    curve = PlotCurve("trial 1", "#000", tuple(map(float, range(20_000))), values)
    plot = svg_plot(Panel(IOPS, (curve,)))
    assert plot is not None
    points = [tuple(map(float, point.split(","))) for point in plot.curves[0].points.split()]
    assert len(points) <= MOST_POINTS + 2
    assert min(top for _, top in points) < 30
    assert all(0 <= left <= plot.width and 0 <= top <= plot.height for left, top in points)


def test_curves_of_a_side_share_a_colour_and_a_name_and_the_unit_is_in_the_title() -> None:
    sides = (("A, baseline", "#888"), ("A, baseline", "#888"), ("B", "#00f"))
    curves = tuple(PlotCurve(name, colour, (0.0, 1.0), (1000.0, 412_000.0)) for name, colour in sides)
    plot = svg_plot(Panel(IOPS, curves))
    assert plot is not None
    assert [curve.number for curve in plot.curves] == [0, 0, 1]
    assert plot.names == (("A, baseline", 0), ("B", 1))
    assert plot.title.endswith(" (k IOPS)")
    assert [text for _, text in plot.up] == ["0", "100", "200", "300", "400", "500"]
