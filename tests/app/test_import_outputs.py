"""Outputs of tools that ran elsewhere, imported as runs."""

import hashlib
import json
import os
import re
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from app.cli.main import benchwright
from app.markdown import escaped
from app.outputs import files
from app.outputs.files import UnreadSource, sources_in
from app.outputs.importing import words_of_command
from app.services import Workstation
from app.store.errors import StoreFullError
from app.store.recorder import Recorder
from app.store.store import Store
from suites.verdict import Trust
from tests.app.stores import store
from tests.messages import messages
from tests.widgets.library_runs import Made, record

__all__ = ["store"]

MESSAGES = messages("app", "test_import_outputs")
DATA = Path(__file__).parents[1] / "data"
CPU = DATA / "sysbench/1.0.20/cpu_default.stdout"
DIRECT = DATA / "sysbench/1.0.20/fileio_rndrw_direct.stdout"
CACHED = DATA / "sysbench/1.0.20/fileio_rndrd.stdout"


def call(library: Path, *words: str) -> Result:
    return CliRunner().invoke(benchwright, ["--store", str(library), *words])


def imported(library: Path, *words: str) -> list[dict[str, Any]]:
    ran = call(library, "import", "--json", *words)
    found: list[dict[str, Any]] = json.loads(ran.stdout)["imported"]
    return found


def test_a_file_becomes_a_run_with_its_bytes_and_its_verdict(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    (one,) = imported(library, str(CPU), "--host", "web-1")
    stored = Store(library)
    record = stored.load(one["run"])
    assert record.plan.hosts == ("web-1",)
    assert record.read_from is not None
    assert record.read_from.name == CPU.name
    assert {figure.metric.name: figure.value for figure in record.trials[0].figures}["events_per_second"] == 5125.12
    assert record.verdict is not None
    assert record.verdict.trust is Trust.UNVERIFIED
    assert [finding.id for finding in record.findings] == ["measured-elsewhere", "sysbench-cpu-defaults"]
    with stored.database.reading() as connection:
        row = connection.exec_driver_sql("SELECT sha256, content FROM imported_outputs").one()
    stored.close()
    assert row == (record.read_from.sha256, CPU.read_bytes())


def test_titles_keep_the_name_of_the_file(tmp_path: Path) -> None:
    first, second = (Workstation(tmp_path / name / "runs.sqlite3", tmp_path / "hosts.toml") for name in "ab")
    (run,) = (one["run"] for one in imported(tmp_path / "a/runs.sqlite3", str(CPU)))
    assert first.result_card(run).title == CPU.name
    assert first.result_card(run).text.startswith(CPU.name)
    assert escaped(CPU.name) in first.ticket_text(run).splitlines()[0]
    assert f"{CPU.name} on " in first.entry_of([run]).title
    assert f"<h1>{CPU.name}</h1>" in first.export_html([run], tmp_path / "r.html").read_text()
    record(second, Made("20260101-000000-0001", name="volume check"))
    assert second.result_card("20260101-000000-0001").title == "Volume check"
    first.close()
    second.close()


def test_results_of_one_test_are_trials_of_one_step(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    three = tmp_path / "three.txt"
    three.write_text(f"{CPU.read_text()}\n{CPU.read_text().replace('5125.12', '5200.00')}\n{DIRECT.read_text()}")
    (one,) = imported(library, str(three))
    shown = json.loads(call(library, "show", "--json", one["run"]).stdout)
    rates = [each for each in shown["metrics"] if each["name"] == "events_per_second"]
    assert [(each["n"], each["step"]) for each in rates] == [(2, "sysbench-cpu")]
    assert len(shown["plan"]["steps"]) == 2


def _of_rate(rate: str) -> str:
    """Return the output of sysbench cpu with another rate, and with what follows from it."""
    events = round(float(rate) * 10.0003)
    text = CPU.read_text().replace("5125.12", rate).replace("51258", str(events))
    return re.sub(r"avg: +0\.19", f"avg: {9992.37 / events:.2f}", text)


def test_a_caveat_known_before_the_run_and_what_was_not_watched_are_findings_of_the_run(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    (one,) = imported(library, str(DATA / "fio/3.7/json_final.stdout"), "--host", "web-1")  # 2 s
    stored = Store(library)
    found = stored.load(one["run"])
    stored.close()
    assert found.verdict is not None
    assert found.verdict.trust is Trust.CAVEATS
    assert [each.id for each in found.findings] == [each.id for each in found.verdict.findings]
    assert {"short-runtime", "measured-elsewhere"} <= {each.id for each in found.findings}


def test_trials_of_one_test_are_judged_together(tmp_path: Path) -> None:
    library, spread = tmp_path / "runs.sqlite3", tmp_path / "spread.txt"
    rates = ("5125.12", "3100.00", "5100.00", "2000.00", "5200.00", "4000.00")
    spread.write_text("\n".join(map(_of_rate, rates)))
    (one,) = imported(library, str(spread))
    shown = json.loads(call(library, "show", "--json", one["run"]).stdout)
    assert "trials-disagree" in {finding["id"] for finding in shown["findings"]}
    assert one["trust"] in {Trust.DOUBTFUL, Trust.CAVEATS}


def test_a_folder_is_imported_and_what_is_no_output_is_named(tmp_path: Path) -> None:
    library, folder = tmp_path / "runs.sqlite3", tmp_path / "outputs"
    folder.mkdir()
    (folder / "a.txt").write_text(CPU.read_text())
    (folder / "b.txt").write_text("no output of any tool\n")
    found = imported(library, str(folder))
    assert [(one["file"], one["run"] is None, bool(one["problem"])) for one in found] == [
        ("a.txt", False, False),
        ("b.txt", True, True),
    ]
    assert call(library, "import", str(folder / "b.txt")).exit_code == 1


def test_imported_outputs_are_a_baseline_and_compare(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    again = tmp_path / "again.txt"
    again.write_text(CPU.read_text().replace("total time:  ", "total time: "))
    imported(library, str(CPU), "--baseline", "old machine")
    (one,) = imported(library, str(again))
    compared = json.loads(call(library, "compare", "--json", "old machine", one["run"]).stdout)
    assert compared


def test_an_undecided_result_is_marked_and_stays_so(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    (one,) = imported(library, str(CACHED))
    assert one["trust"] == Trust.UNDECIDED
    listed = json.loads(call(library, "list", "--json").stdout)
    assert [each["trust"] for each in listed] == [Trust.UNDECIDED]


def test_options_of_outputs_are_refused_for_a_library(tmp_path: Path) -> None:
    library, other = tmp_path / "runs.sqlite3", tmp_path / "other.sqlite3"
    imported(other, str(CPU))
    assert call(library, "import", str(other), "--host", "web-1").exit_code == 2
    assert json.loads(call(library, "import", "--json", str(other)).stdout)["runs"]
    assert Trust.UNVERIFIED in call(library, "list").stdout


def test_a_redacted_export_has_no_name_of_the_imported_bytes(tmp_path: Path) -> None:
    library, output, shared = (tmp_path / name for name in ("runs.sqlite3", "canary-db-77.txt", "shared.sqlite3"))
    output.write_text(f"ann@canary-db-77:~$ sysbench cpu run\n{CPU.read_text()}")
    (one,) = imported(library, str(output), "--host", "canary-db-77")
    done = call(library, "export", one["run"], "--redact", "--library", str(shared))
    assert done.exit_code == 0, done.output
    assert b"canary-db-77" not in shared.read_bytes()
    with closing(sqlite3.connect(shared)) as connection:
        content, digest = connection.execute("SELECT content, sha256 FROM imported_outputs").fetchone()
    assert content == b""
    assert hashlib.sha256(content).hexdigest() == digest


@pytest.mark.parametrize(("line", "words"), [
    ('pgbench "host=db1 password=x" -T 9', ["pgbench", "host=db1 password=x", "-T", "9"]),
    ("pgbench --log-prefix=it's -T 9", ["pgbench", "--log-prefix=it's", "-T", "9"]),
    ("diskspd.exe -d9 C:\\a.dat", ["diskspd.exe", "-d9", "C:\\a.dat"]),
])  # fmt: skip
def test_a_command_is_split_as_a_shell_does(line: str, words: list[str]) -> None:
    assert words_of_command(line) == words


def test_copies_of_an_output_are_one_trial(tmp_path: Path) -> None:
    library, seven = tmp_path / "runs.sqlite3", tmp_path / "seven.txt"
    seven.write_text("\n".join([CPU.read_text()] * 7))
    (one,) = imported(library, str(seven))
    (trial,) = Store(library).load(one["run"]).trials
    assert any("7 copies" in note for note in trial.notes)


LOOP = "$ for i in 1 2 3; do dd if=/dev/zero of=x bs=1M count=512 oflag=direct 2>&1 | grep copied; done\n"
COPIED = "536870912 bytes (537 MB, 512 MiB) copied, 1.21 s, 444 MB/s\n"
REPORT = f"512+0 records in\n512+0 records out\n{COPIED}"


def test_each_pass_of_a_loop_is_a_trial_even_with_the_same_figures(tmp_path: Path) -> None:
    library, passes = tmp_path / "runs.sqlite3", tmp_path / "passes.txt"
    for one in (COPIED, REPORT):
        passes.write_text(LOOP + one * 3)
        record = Store(library).load(imported(library, str(passes))[0]["run"])
        assert len(record.trials) == 3
        assert record.plan.steps[0].values["flush"] == "direct"
    passes.write_text(REPORT * 3)
    (trial,) = Store(library).load(imported(library, str(passes))[0]["run"]).trials
    assert any("3 copies" in note for note in trial.notes)


def test_the_jobs_of_one_document_are_steps_of_their_own(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    path = DATA / "fio/3.33/one_of_two_failed.stdout"
    record = Store(library).load(imported(library, str(path))[0]["run"])
    assert [step.name for step in record.plan.steps] == ["good", "bad"]


def test_a_file_is_imported_once_on_a_host_unless_asked_for(tmp_path: Path) -> None:
    library, copy = tmp_path / "runs.sqlite3", tmp_path / "copy.txt"
    copy.write_bytes(CPU.read_bytes())
    first, second = imported(library, str(CPU), str(copy))
    assert (first["present"], second["present"]) == (False, True)
    assert second["run"] == first["run"]
    assert second["trust"] == first["trust"]
    shown = call(library, "import", str(CPU))
    assert shown.exit_code == 0
    assert "imported before" in shown.stdout
    assert "--again" in shown.stderr
    (elsewhere,) = imported(library, str(CPU), "--host", "web-1")
    (again,) = imported(library, str(CPU), "--again")
    assert len({one["run"] for one in (first, elsewhere, again)}) == 3
    call(library, "delete", first["run"], again["run"])
    (restored,) = imported(library, str(CPU))
    assert not restored["present"]
    (pinned,) = imported(library, str(CPU), "--baseline", "main")
    assert pinned["present"]
    assert "main" in call(library, "baseline", "list").stdout


def test_an_option_is_no_name_of_a_baseline(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    ran = call(library, "import", str(CPU), "--baseline", "--json")
    assert ran.exit_code == 2
    assert "'--baseline' has no value" in ran.stderr
    assert not library.exists()


def test_every_entry_of_a_hostile_folder_is_counted(tmp_path: Path) -> None:
    library, folder = tmp_path / "runs.sqlite3", tmp_path / "outputs"
    folder.mkdir()
    (folder / "good").write_bytes(CPU.read_bytes())
    (folder / "copy").write_bytes(CPU.read_bytes())
    (folder / "prose").write_text("It was fast.")
    (folder / "binary").write_bytes(bytes(range(256)) * 10**5)  # 50 s, if it were searched
    with (folder / "sparse").open("wb") as file:
        file.truncate(5 * 2**30)
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to(folder)
    (folder / "broken").symlink_to(folder / "nothing")
    began = time.monotonic()
    found = {one["file"]: one for one in imported(library, str(folder))}
    assert time.monotonic() - began < 10
    assert set(found) == {"good", "copy", "prose", "binary", "sparse", "fifo", "loop", "broken"}
    assert {name for name, one in found.items() if one["run"]} == {"good", "copy"}
    assert [one["present"] for one in (found["copy"], found["good"])] == [False, True]
    assert all(one["problem"] for one in found.values() if not one["run"])
    shown = " ".join(call(library, "import", str(folder)).stderr.split())
    assert MESSAGES["counts"] in shown


def test_a_folder_of_any_depth_is_read(tmp_path: Path) -> None:
    made, descriptor = 1200, os.open(tmp_path, os.O_RDONLY)
    for _ in range(made):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    file = os.open("output.txt", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor)
    os.close(file)
    os.close(descriptor)
    try:
        found = [each.name for each in sources_in([tmp_path]) if isinstance(each, Path)]
    finally:  # shutil.rmtree(), which pytest cleans up with, fails on such a depth
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)
    assert found == ["output.txt"]


def test_what_exceeds_the_number_of_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 3)
    for number in range(5):
        (tmp_path / f"{number}.txt").touch()
    *_, last = sources_in([tmp_path])
    assert isinstance(last, UnreadSource)
    assert "not read" in last.problem


def test_a_full_disk_names_the_files_that_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their measurements are in the files, not “in memory only”; those before are imported."""
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(f"{CPU.read_text()}\n# {name}\n")
    write, begun = Recorder._write, []

    def full(recorder: Recorder, patience: float) -> None:
        begun.append(recorder)
        if len({id(one) for one in begun}) > 1:
            raise StoreFullError("No space left.", "Free space.")
        write(recorder, patience)

    monkeypatch.setattr(Recorder, "_write", full)
    ran = call(tmp_path / "runs.sqlite3", "import", *(str(tmp_path / name) for name in ("a.txt", "b.txt", "c.txt")))
    assert MESSAGES["a_full_disk_names_the_files"] in " ".join(ran.output.split())


def test_only_values_that_an_output_states_are_its_parameters(tmp_path: Path) -> None:
    library, output = tmp_path / "runs.sqlite3", tmp_path / "dd.txt"
    output.write_text("4294967296 bytes (4.3 GB, 4.0 GiB) copied, 21.5 s, 200 MB/s\n")
    (one,) = imported(library, str(output))
    shown = json.loads(call(library, "show", "--json", one["run"]).stdout)
    (listed,) = json.loads(call(library, "list", "--json").stdout)
    (judged,) = json.loads(call(library, "judge", "--json", str(output)).stdout)["files"]
    assert [step["values"] for step in shown["plan"]["steps"]] == [{}]
    assert listed["parameters"] == [{}]
    assert [result["values"] for result in judged["results"]] == [{}]
    output.write_text(f"$ dd if=/dev/urandom of=t bs=1M oflag=direct count=4096\n{output.read_text()}")
    (two,) = imported(library, str(output))
    listed = next(each for each in json.loads(call(library, "list", "--json").stdout) if each["id"] == two["run"])
    assert listed["parameters"][0] | {"input": "/dev/urandom", "block_size": "1 MiB"} == listed["parameters"][0]


def test_a_script_of_an_output_without_its_command_is_refused(tmp_path: Path) -> None:
    library, script, output = (tmp_path / name for name in ("runs.sqlite3", "run.sh", "two.txt"))
    (one,) = imported(library, str(CPU))
    refused = call(library, "export", one["run"], "--script", str(script))
    assert (refused.exit_code, script.exists()) == (2, False)
    assert MESSAGES["no_command"] in refused.stderr
    output.write_text(
        f"{CPU.read_text()}\n$ dd if=/dev/zero of=t bs=1M count=1024\n"
        "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 1.2 s, 895 MB/s\n"
    )
    (two,) = imported(library, str(output))
    assert call(library, "export", two["run"], "--script", str(script)).exit_code == 0
    printed = [line for line in script.read_text().splitlines() if line.startswith("echo ")]
    assert len(printed) == 1
    assert "sysbench-cpu" in printed[0]
