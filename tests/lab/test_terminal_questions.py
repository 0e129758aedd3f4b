"""What is asked at a terminal before a host is changed or a device is lost, by the real program on a real one."""

import signal
from pathlib import Path

import pytest

from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.plans.plan_file import write_plan
from app.plans.tuning import Tuning
from tests.loop_devices import MakeLoop, backing_file, make_loop
from tests.messages import messages
from tests.program import DONE, FAILED
from tests.sudo_host import PASSWORD, StartSudoHost, files_with, start_sudo_host
from tests.terminal import terminal

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("lab", "test_terminal_questions")

__all__ = ["make_loop", "start_sudo_host"]


def plan_file(folder: Path, device: str, host: str = LOCAL, tuning: Tuning | None = None) -> str:
    values = {"device": device, "rw": "randwrite", "size": "4 MiB", "runtime": 1.0}
    plan = Plan("raw", (host,), (make_step("fio", values),), repetition=Repetition(trials=1), tuning=tuning or Tuning())
    write_plan(plan, folder / "plan.toml")
    return str(folder / "plan.toml")


@pytest.mark.slow
def test_a_loss_is_confirmed_by_typing(make_loop: MakeLoop, tmp_path: Path) -> None:
    device = make_loop("scratch.img")
    with terminal("run", plan_file(tmp_path, device)) as screen:
        screen.expect(f"Everything on {device} of local will be lost:")
        screen.expect("Overwritten by: fio (randwrite)")
        screen.expect("Type its file’s name to continue")
        screen.type("scratch.img")
        assert screen.status() == DONE, screen.seen
    assert any(backing_file(device).read_bytes())


@pytest.mark.parametrize(
    "answer", ["yes", *(pytest.param(answer, marks=pytest.mark.slow) for answer in ("", "y", "scratch", "/dev/loop0"))]
)
def test_any_other_answer_gives_up(make_loop: MakeLoop, tmp_path: Path, answer: str) -> None:
    device = make_loop("scratch.img")
    with terminal("run", plan_file(tmp_path, device)) as screen:
        screen.expect("to continue")
        screen.type(answer)
        assert screen.status() == FAILED
        assert "was not confirmed" in screen.seen
    assert not any(backing_file(device).read_bytes())


@pytest.mark.slow
def test_sudos_password_is_typed_unseen_and_kept_nowhere(
    start_sudo_host: StartSudoHost, make_loop: MakeLoop, tmp_path: Path
) -> None:
    host = start_sudo_host()
    host.add_to_home("web-1")
    device = make_loop("scratch.img")
    path = plan_file(tmp_path, device, "web-1", Tuning(drop_caches=True))
    with terminal("run", path, "--destroy", "scratch.img") as screen:
        screen.expect("Run it (yes or no)")
        screen.type("yes")
        screen.expect("Password for sudo, to drop the page cache before each trial, run fio")
        screen.type(PASSWORD)
        assert screen.status() == DONE, screen.seen
        assert PASSWORD not in screen.seen
    with terminal("export", "last", "--csv", str(tmp_path / "run.csv")) as screen:
        assert screen.status() == DONE
    assert files_with(PASSWORD, [tmp_path, Path.home(), host.directory.parent]) == []


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_at_a_question_stops_the_run(
    start_sudo_host: StartSudoHost, tmp_path: Path, number: signal.Signals
) -> None:
    host = start_sudo_host()
    host.add_to_home("web-1")
    plan = Plan("cpu", ("web-1",), (make_step("sysbench-cpu", {"time": 1}),), tuning=Tuning(drop_caches=True))
    write_plan(plan, tmp_path / "plan.toml")
    with terminal("run", "--yes", str(tmp_path / "plan.toml")) as screen:
        screen.expect("Password for sudo, to drop the page cache before each trial")
        screen.send(number)
        assert screen.status() == FAILED
        assert MESSAGES["ended_early_stopped_by_you"] in screen.seen
        assert "Traceback" not in screen.seen


@pytest.mark.slow
def test_a_wrong_password_is_asked_for_again(
    start_sudo_host: StartSudoHost, make_loop: MakeLoop, tmp_path: Path
) -> None:
    start_sudo_host().add_to_home("web-1")
    with terminal("run", plan_file(tmp_path, make_loop("scratch.img"), "web-1")) as screen:
        screen.expect("Password for sudo")
        screen.type("wrong")
        screen.seen = ""
        screen.expect("Password for sudo")
        screen.type("")
        assert screen.status() == FAILED
        assert MESSAGES["no_password_for_sudo_was"] in screen.seen
