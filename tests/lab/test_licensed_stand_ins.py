"""Geekbench and SPEC CPU on a host: stand-ins for the licensed programs print and leave what was documented."""

import os
from pathlib import Path

import pytest

from app.events import State
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_licensed_stand_ins")

DATA = Path(__file__).parent.parent / "data"


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def geekbench(folder: Path, edition: str) -> None:
    report = DATA / "geekbench/documented/geekbench6.stdout"
    header = f"Geekbench 6.3.0 {edition} : https://www.geekbench.com/"
    program(
        folder / "geekbench6",
        f'case $1 in --sysinfo) echo "{header}" ;; --no-upload) cat {report} ;; *) exit 9 ;; esac',
    )


@pytest.mark.slow
def test_geekbench_with_a_licence_gives_its_scores(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    geekbench(tmp_path / "gb", "Pro")
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "geekbench", "lab", folder=str(tmp_path / "gb"))
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert figures(ended.parsed)["integer multi"] == 3890


@pytest.mark.slow
def test_geekbench_without_a_licence_is_never_started(tmp_path: Path) -> None:
    geekbench(tmp_path / "gb", "Tryout")
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "geekbench", "local", folder=str(tmp_path / "gb"))
    assert ended.state is State.FAILED
    assert MESSAGES["it_would_upload_its_results"] in ended.reason
    assert ended.parsed.figures == ()


@pytest.mark.slow
def test_of_spec_only_the_results_of_this_run_are_read(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    folder = tmp_path / "cpu2017"
    result = DATA / "speccpu/documented/intrate2017.stdout"
    program(folder / "bin/runcpu", f'echo "$@" >words && cp {result} result/CPU2017.002.intrate.csv')
    (folder / "shrc").write_text("PATH=$PWD/bin:$PATH\n")
    (folder / "result").mkdir()
    old = folder / "result/CPU2017.001.intrate.csv"
    old.write_text("SPECrate2017_int_base,99.0,,99.0\n")
    os.utime(old, (1e9, 1e9))
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "speccpu", "lab", folder=str(folder), config="mine.cfg", threads=2)
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert figures(ended.parsed)["composite SPECrate2017_int_base"] == 15.883012
    assert (folder / "words").read_text().endswith("--copies=2 intrate\n")


@pytest.mark.slow
def test_a_folder_without_spec_is_said(tmp_path: Path) -> None:
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "speccpu", "local", folder=str(tmp_path), config="mine.cfg")
    assert ended.state is State.FAILED
    assert "shrc" in ended.reason
