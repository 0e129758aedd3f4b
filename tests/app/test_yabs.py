"""Results of yabs.sh as baselines: printed text and JSON, matched only with steps that measure the same."""

import json
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from app.baselines.reference import Reference, ReferenceTableError, as_run
from app.baselines.reference_file import read_reference, reference_from, reference_to_json
from app.cli.main import benchwright
from app.outputs.files import judged_bytes
from app.plans.plan import make_step
from app.plans.presets import ends_with_card, filled_preset
from app.step_results import results_text
from app.store.store import Store
from suites.errors import BenchwrightError
from suites.parameters import Value
from suites.yabs import is_yabs, table_of_yabs

DATA = Path(__file__).parents[1] / "data" / "yabs"
PRINTED, WRITTEN = DATA / "documented-2020-09-21.txt", DATA / "documented-2022-08-17.json"


def figures_for(table: Reference, step_name: str) -> dict[tuple[str, str], float]:
    (step,) = (
        one for one in filled_preset("cloud-check", answers={"peer": "web-2"}).plan.steps if one.name == step_name
    )
    return {(one.metric, dict(one.labels).get("operation", "")): one.value for one in table.of(step)}


def test_the_printed_result_is_a_table_of_all_figures() -> None:
    table = read_reference(PRINTED)
    assert (table.measured, table.universe) == ("2020-09-21", {"cpu": "Intel(R) Xeon(R) E-2276G CPU @ 3.80GHz"})
    assert "v2020-09-21" in table.source
    assert len(table.figures) == 4 * 6 + 4 * 2 + 4
    small = figures_for(table, "disk, mixed 4k")
    assert small["total_iops", ""] == 222_800
    assert small["iops", "read"] * 4096 == pytest.approx(small["bandwidth", "read"], rel=1e-3)  # KiB/s printed as KB/s
    assert figures_for(table, "disk, mixed 1m") == {
        ("iops", "read"): 461, ("iops", "write"): 491, ("total_iops", ""): 952,
        ("bandwidth", "read"): 472.32e3 * 1024, ("bandwidth", "write"): 503.77e3 * 1024,
        ("total_bandwidth", ""): 976.1e3 * 1024,
    }  # fmt: skip
    assert reference_from(reference_to_json(table), "x") == table


HEAD = "#              Yet-Another-Bench-Script              #\n#                     {}                    #\n"
ROWS = """\
fio Disk Speed Tests (Mixed R/W 50/50) (Partition /dev/vda2):
---------------------------------
Block Size | 4k            (IOPS) | 64k           (IOPS)
Read       | {} MB/s  ({}) |                   ()
Write      |                   () |                   ()
Total      | 0.00 KB/s        (0) | 0.00 KB/s        (0)
"""


@pytest.mark.parametrize(
    ("version", "rate", "ios", "expected"),
    [
        ("v2026-07-24", "142.95", "34.9k", 142.95),
        ("v2025-04-20", "142.95", "34.9k", 142.95),  # of the weeks before the name changed
        ("v2025-04-20", "139.60", "34.9k", 139.60 * 1.024),
        ("", "142.95", "34.9k", 142.95),
        ("", "139.60", "34.9k", 139.60 * 1.024),
        ("v2026-07-24", "0.05", "12", 0.05),  # too few to decide
        ("v2025-04-20", "0.05", "12", 0.05 * 1.024),
    ],
)
def test_the_unit_of_a_printed_rate_is_that_of_its_iops(version: str, rate: str, ios: str, expected: float) -> None:
    text = (HEAD.format(version) if version else "") + ROWS.format(rate, ios)
    (figure,) = (one for one in table_of_yabs(text)["figure"] if one["metric"] == "bandwidth")
    assert figure["value"] == pytest.approx(expected * 1e6)
    assert any("KiB/s" in one for one in table_of_yabs(text)["doubts"]) == (expected != float(rate))


def test_blocks_without_a_figure_are_named() -> None:
    first, blank = judged_bytes("paste", ROWS.format("142.95", "34.9k").encode()).outputs
    assert len(first.found.output.parsed.figures) == 2
    assert "64k" in blank.verdict.summary
    assert "4k" not in blank.verdict.summary.replace("64k", "")


def test_the_json_is_the_same_table_unrounded_also_behind_the_printed_text(tmp_path: Path) -> None:
    table = read_reference(WRITTEN)
    assert table.measured == "2022-08-17"
    assert table.universe["kernel"] == "5.4.0-120-generic"
    assert figures_for(table, "disk, mixed 4k")["total_iops", ""] == 82_903
    both = tmp_path / "both"
    line = json.dumps(json.loads(WRITTEN.read_text()), separators=(",", ":"))
    both.write_text(f"{PRINTED.read_text()}\n{line}\n")
    assert read_reference(both).figures == table.figures
    both.write_text(f"{PRINTED.read_text()}\n{line[:300]}\n")  # cut off: the printed text counts
    assert read_reference(both).figures == read_reference(PRINTED).figures


def test_only_what_measures_the_same_is_compared() -> None:
    table = read_reference(PRINTED)
    same = filled_preset("cloud-check").plan.steps
    (disk,) = (step for step in same if step.name == "disk, mixed 4k")
    assert table.of(disk)
    others: dict[str, Value] = {"iodepth": 32, "numjobs": 1, "rw": "randread", "ioengine": "psync", "direct": False}
    for name, value in others.items():
        assert table.of(replace(disk, values={**disk.values, name: value})) == (), name
    six, five = (make_step("geekbench", {"program": name}) for name in ("geekbench6", "geekbench5"))
    assert table.of(six) == ()
    assert {one.metric: one.value for one in table.of(five)} == {"single_core": 1348, "multi_core": 5857}
    network = [one for one in table.figures if one.suite == "iperf3"]
    assert all("peer" in dict(one.labels) for one in network)  # never equal to those of a peer of ours
    alone = as_run(table, "baseline:yabs", ())
    assert len({step.name for step in alone.plan.steps}) == len(alone.plan.steps) == 4 + 2 + 2


def test_a_terminal_log_is_read_without_its_control_codes() -> None:
    noisy = "\n".join(f"Running fio...\r\x1b[0K{line}" for line in PRINTED.read_text().splitlines())
    for text in (noisy, PRINTED.read_text().replace("\n", "\r\n")):
        assert table_of_yabs(text)["figure"] == table_of_yabs(PRINTED.read_text())["figure"]


def test_the_block_size_of_each_figure_is_shown(tmp_path: Path) -> None:
    def invoke(*words: str) -> str:
        return CliRunner().invoke(benchwright, ["--store", str(tmp_path / "runs.sqlite3"), *words]).output

    invoke("baseline", "import", str(PRINTED), "--name", "yabs")
    rows = [line for line in invoke("baseline", "show", "yabs").splitlines() if "total_iops" in line]
    assert [size in row for size, row in zip(("4 KiB", "64 KiB", "512 KiB", "1 MiB"), rows, strict=True)] == [True] * 4


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Yet-Another-Bench-Script\nLess than 2GB of space available. Skipping disk test...", "has no figure"),
        ('{"version":"v2023-04-23","fio":[{"bs":"4k","speed_r":,}]}', "not valid JSON"),
        ('{"version":"v2023-04-23","fio":[{"bs":"4k","iops_r":1},{"bs":"4k","iops_r":2}]}', "twice"),
    ],
)
def test_a_result_without_figures_is_refused_with_the_reason(tmp_path: Path, text: str, shown: str) -> None:
    path = tmp_path / "yabs.txt"
    path.write_text(text)
    with pytest.raises(ReferenceTableError, match=shown):
        read_reference(path)


PIECES = st.sampled_from(
    [*PRINTED.read_text().splitlines(), '{"version":"v2023-04-23"', "|" * 500, "9" * 400, "\x1b[", "\r"]
)


@given(st.lists(PIECES | st.text(max_size=80), max_size=40))
def test_any_text_is_a_table_or_refused(lines: list[str]) -> None:
    with suppress(BenchwrightError):
        reference_from(table_of_yabs("\n".join(lines)), "x")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(["4k", "1 Gbits/sec"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["fio", "iperf", "geekbench", "bs", "iops_rw", "speed_r", "os", "cpu"]), inner
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_a_table_or_refused(content: object) -> None:
    text = json.dumps({"version": "v2023-04-23", "all": content} | (content if isinstance(content, dict) else {}))
    assert is_yabs(text)
    with suppress(BenchwrightError):
        reference_from(table_of_yabs(text), "x")


def test_a_table_of_unknown_parameters_is_refused() -> None:
    figure = {"suite": "fio", "metric": "iops", "unit": "1/s", "value": 1.0, "parameters": {"depth": "1"}}
    with pytest.raises(ReferenceTableError, match="no parameter “depth”"):
        reference_from({"figure": [figure]}, "x")


def test_only_runs_of_the_preset_end_with_the_card() -> None:
    plan = filled_preset("cloud-check").plan
    assert ends_with_card(plan)
    assert ends_with_card(replace(plan, name="mine"))
    assert not ends_with_card(replace(plan, question=""))
    assert not ends_with_card(filled_preset("healthy-instance").plan)


def test_any_stored_run_is_shown_as_text_and_exported_as_a_picture(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    shutil.copy(DATA.parent / "store" / "format-6.sqlite3", library)

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(benchwright, ["--store", str(library), *words])

    record = Store(library).load("last")
    assert invoke("show", "last", "--card").output.splitlines() == results_text(record).splitlines()
    picture = tmp_path / "card.png"
    assert invoke("export", "last", "--card", str(picture)).exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert invoke("export", "last", "last", "--card", str(picture)).exit_code == 0


@pytest.mark.parametrize(("rate", "ios", "agrees"), [("2.20", "2.1k", True), ("2.40", "2.1k", False)])
def test_a_printed_count_has_the_half_unit_of_its_last_digit(rate: str, ios: str, agrees: bool) -> None:  # noqa: FBT001 (one of a table)
    rows = ROWS.replace("4k ", "1m ", 1).replace("MB/s", "GB/s").format(rate, ios)
    first = judged_bytes("paste", (HEAD.format("v2025-04-20") + rows).encode()).outputs[0]
    assert ("rate-against-block" not in {one.id for one in first.verdict.findings}) == agrees


def test_each_result_has_the_line_of_its_table() -> None:
    lines = PRINTED.read_text().splitlines()
    for one in judged_bytes("yabs", PRINTED.read_bytes()).outputs:
        tool = one.found.output.suite_id
        assert tool in lines[one.found.first_line - 1].lower()
