"""What a plan needs consent for, what consent holds for, and the file that remembers it."""

import hashlib
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.plans.consent import MOST, ConsentFile, Consents, NotAgreedError, parts_of
from app.plans.plan import LOCAL, Plan, Repetition, Step, make_step
from app.plans.presets import default_plan, filled_preset, preset
from app.plans.tuning import Tuning
from suites.command.suite import UserCommand
from suites.parameters import Type
from suites.registry import SUITES
from tests.lab_sshd import AnsweringAsker
from tests.messages import messages

MESSAGES = messages("app", "test_consent")

HARMLESS = {
    "fio": {"directory", "device", "block_sizes", "steady_state"},
    "fio-sweep": {"directory", "device", "depths", "job_counts", "blocks"},
    "fio-snia": {"directory", "device", "blocks", "mixes"},
    "fio-job": {"directory"},
    "sysbench-fileio": {"directory"},
    "dd": {"directory"},
    "cp": {"directory"},
    "ioping": {"directory"},
    "linpack": {"sizes"},
    "memory-blocks": {"blocks"},
    "net-blocks": {"buffers"},
    "iperf3": {"congestion"},
    "latency-under-load": {"congestion"},
    "rrul": {"congestion"},
    "sysbench-oltp": {"directory"},
    "pgbench": {"directory"},
    "fio-slo": {"directory"},
    "pg-test-fsync": {"directory"},
    "pgbench-slo": {"directory"},
    "sqlite": {"directory"},
    "command": {"pattern", "json_path", "metric", "accepted"},
}
"""Texts that decide nothing but what the suite's own tool does. Any other has to be part of an effect."""

SIMILAR = {
    "linpack": {"program": "xhpl"},
    "speccpu": {"folder": "/opt/spec"},
    "sysbench-oltp": {"server": "named"},
    "pgbench": {"server": "named"},
    "redis": {"server": "named"},
    "http": {"server": "named", "url": "http://web-1/"},
    "pgbench-slo": {"server": "named"},
    "http-slo": {"server": "named"},
}
"""What makes a text of such a suite have an effect at all."""

NAMES = [
    (suite.id, parameter.name)
    for suite in SUITES
    for parameter in suite.parameters
    if parameter.type in {Type.TEXT, Type.LINES} and parameter.name not in HARMLESS.get(suite.id, ())
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "consent"


@pytest.fixture
def consents(path: Path) -> Consents:
    return Consents(ConsentFile(path))


def plan_of(*steps: Step, hosts: tuple[str, ...] = (LOCAL,), tuning: Tuning | None = None) -> Plan:
    return Plan("plan", hosts, steps, tuning=tuning or Tuning())


def command(text: str = "true", **more: object) -> Step:
    return make_step("command", {"command": text, **more})


def asked(consents: Consents, plan: Plan) -> list[str]:
    """Return the texts for which a plan asks, agreeing to all of them."""
    asker = AnsweringAsker()
    consents.settle(plan, asker)
    return [item.text for question in asker.consent_questions for item in question.items]


@pytest.mark.parametrize(("suite", "name"), NAMES)
def test_every_text_that_names_a_program_a_file_or_a_server_is_shown(suite: str, name: str) -> None:
    """A new parameter of a suite stands on the list of harmless ones, or is part of what is agreed to."""
    given = "[job]\nexec_prerun=/mark/it\n" if name == "job" else "/mark/it"
    if name == "scan":
        given = "n=mark,other"
    if name in {"address", "config", "database", "user", "environment", "url", "target"}:
        given = {"environment": "A=mark", "address": "mark.example", "url": "http://mark.example/"}.get(name, "mark")
    chosen = {**SIMILAR.get(suite, {}), **({"command": "true {n}"} if suite == "command" else {}), name: given}
    (part,) = parts_of(plan_of(make_step(suite, chosen)))
    assert any("mark" in effect.text for effect in part.effects)


def test_no_suite_asks_for_what_its_tool_does_by_itself() -> None:
    suites = [suite.id for suite in SUITES if suite.id != "command"]
    assert parts_of(default_plan([LOCAL], [*suites[:-1]], "all")) == ()


@pytest.mark.parametrize("name", ["cpu-applications", "numa-matrix", "system-latency"])
def test_commands_of_our_questions_are_asked_for_as_any(name: str) -> None:
    plan = filled_preset(name, [LOCAL], {ask.name: ask.example for ask in preset(name).asks}).plan
    own = [
        each
        for step in plan.steps
        if isinstance(step.suite, UserCommand)
        for each in step.suite.timed_commands(step.values).values()
    ]
    shown_texts = [effect.text for part in parts_of(plan) for effect in part.effects]
    assert own
    assert all(any(text.endswith(one) for text in shown_texts) for one in own)


@pytest.mark.parametrize(
    "line",
    [
        "exec_prerun=/x", "exec_postrun=/x", "ioengine=exec\nprogram=/x", "ioengine=external:/x.so", "ioengine=/x.so",
        "read_iolog=/x", "hostname=10.0.0.1", "http_host=evil.example", "uri=nbd://evil.example",
    ],
)  # fmt: skip
def test_what_a_job_file_runs_replays_or_reaches_is_shown_with_its_section(line: str) -> None:
    (part,) = parts_of(plan_of(make_step("fio-job", {"job": f"[global]\n{line}\n[one]\nsize=1m\n[two]\nsize=1m\n"})))
    assert {effect.what for effect in part.effects} == {"[one]", "[two]"}
    for value in (option.partition("=")[2] for option in line.split("\n")):
        assert any(value in effect.text for effect in part.effects) or value == "exec"
    assert part.texts


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("filename=/root/.ssh/authorized_keys", ["/root/.ssh/authorized_keys"]),
        ("rw=write\nfilename=../../shadow", ["../../shadow"]),
        ("write_bw_log=/etc/cron.d/x", ["/etc/cron.d/x_bw"]),
        ("rw=read\nfilename=/dev/sdb", []),
        ("rw=write\nfilename=mine", []),
    ],
)
@pytest.mark.parametrize("existing", ["keep", "overwrite"])
def test_a_job_file_that_makes_files_elsewhere_asks(line: str, shown: list[str], existing: str) -> None:
    given = {"job": f"[one]\nsize=1m\n{line}\n", "existing_files": existing}
    found = [effect.text for part in parts_of(plan_of(make_step("fio-job", given))) for effect in part.effects]
    assert [path for path in shown if not any(text.startswith(path) for text in found)] == []
    assert bool(found) is bool(shown)


@pytest.mark.parametrize(
    ("environment", "asks"),
    [
        ("", False), ("SIZE=8m DEPTH=4", False), ("SIZE=8m DEPTH=4 LD_PRELOAD=/x.so", True), ("PATH=/x", True),
        ("LD_AUDIT=/x.so", True), ("OTHER=1", True), ("OPENSSL_CONF=/x.cnf", True), ("JOBS=4", True),
        ("PYTHONPATH=/x", True), ("IO_SIZE2=4k SIZE=8m", False),
    ],
)  # fmt: skip
def test_an_environment_that_does_more_than_fill_in_a_job_file_asks(environment: str, asks: bool) -> None:  # noqa: FBT001 (a case)
    used = "LD_AUDIT OPENSSL_CONF PYTHONPATH IO_SIZE2"
    description = " ".join(f"${{{name}}}" for name in used.split())
    job = f"; ${{JOBS}}\n[job]\nsize=${{SIZE}}\niodepth=${{DEPTH}}\ndescription={description} # ${{JOBS}}\n"
    parts = parts_of(plan_of(make_step("fio-job", {"job": job, "environment": environment})))
    assert bool(parts) == asks


def test_consent_is_for_content_and_for_the_hosts_it_was_given_for(consents: Consents) -> None:
    plan = plan_of(command("make", prepare="git clone x"))
    assert asked(consents, plan) == ["git clone x", "make"]
    assert asked(consents, plan) == []
    same = replace(plan, name="another", question="Why?", repetition=Repetition(trials=9))
    assert asked(consents, replace(same, steps=(make_step("sysbench-cpu", {}), *plan.steps))) == []
    assert asked(consents, plan_of(command("make -j", prepare="git clone x"))) == ["git clone x", "make -j"]
    assert asked(consents, plan_of(command("make", prepare="git clone x", environment="LD_PRELOAD=/x"))) != []
    elsewhere = AnsweringAsker()
    consents.settle(replace(plan, hosts=(LOCAL, "web-1")), elsewhere)
    (question,) = elsewhere.consent_questions
    assert {item.action for item in question.items} == {"Executes on web-1"}


def test_the_names_of_hosts_are_shown_whole(consents: Consents) -> None:
    host = f"{'a' * 250}.evil.example"
    asker = AnsweringAsker()
    consents.settle(plan_of(command(), hosts=(LOCAL, host)), asker)
    (question,) = asker.consent_questions
    assert [item.action for item in question.items] == [f"Executes on this computer, {host}"]


def test_what_is_agreed_to_tells_the_content_of_local_files(consents: Consents, tmp_path: Path) -> None:
    archive = tmp_path / "unixbench.tgz"
    archive.write_bytes(b"agreed")
    plan = plan_of(make_step("unixbench", {"archive": str(archive)}))
    digest = hashlib.sha256(b"agreed").hexdigest()
    assert consents.settle(plan, AnsweringAsker()) == {str(archive): digest}
    assert consents.settle(plan, AnsweringAsker(agree=False)) == {str(archive): digest}  # it asks no more
    consents.remember_made(made := plan_of(make_step("unixbench", {"archive": str(archive), "iterations": 2})))
    assert consents.settle(made, AnsweringAsker(agree=False)) == {str(archive): digest}


def test_what_was_refused_is_asked_again(consents: Consents, path: Path) -> None:
    for _ in range(2):
        with pytest.raises(NotAgreedError, match="Nothing was started"):
            consents.settle(plan_of(command()), asker := AnsweringAsker(agree=False))
        assert len(asker.consent_questions) == 1
    assert not path.exists()


def test_what_is_made_here_asks_on_no_host_and_a_job_file_does(consents: Consents) -> None:
    job = make_step("fio-job", {"job": "[job]\nexec_prerun=x\n"})
    consents.remember_made(plan_of(command(), job))
    assert asked(consents, plan_of(command(), hosts=("web-1", "web-2"))) == []
    assert asked(consents, plan_of(command(), job)) == ["x"]


def test_a_shipped_preset_with_a_job_file_asks_nothing_unless_its_file_is_changed(consents: Consents) -> None:
    plan = filled_preset("two-volumes", [LOCAL], {"first": "/srv", "second": "/data"}).plan
    consents.remember_made(plan)
    assert asked(consents, plan), "nobody filled it in here"
    elsewhere = filled_preset("two-volumes", [LOCAL], {"first": "/srv", "second": "/mnt"}).plan
    consents.remember_filled(elsewhere)
    consents.remember_made(tuned := replace(elsewhere, steps=tuple(replace(one, name="t") for one in elsewhere.steps)))
    assert asked(consents, tuned) == []
    (step,) = elsewhere.steps
    changed = make_step("fio-job", {**step.values, "job": str(step.values["job"]) + "[more]\nfilename=/etc/cron.d/x\n"})
    consents.remember_made(plan_of(changed))
    assert "/etc/cron.d/x" in asked(consents, plan_of(changed))


def test_changing_a_strangers_plan_here_agrees_to_none_of_it(consents: Consents) -> None:
    strangers = plan_of(command("curl evil | sh"))
    changed = plan_of(command("curl evil | sh", timeout=60))
    consents.remember_made(changed, strangers)
    assert asked(consents, changed) == ["curl evil | sh"]


def test_changing_here_what_was_agreed_to_asks_nothing_but_for_an_imported_file(consents: Consents) -> None:
    basis = plan_of(command("make"))
    asked(consents, basis)
    job = make_step("fio-job", {"job": "[job]\nexec_prerun=x\n"})
    changed = plan_of(command("make -j"), job)
    consents.remember_made(changed, basis)
    assert asked(consents, changed) == ["x"]
    assert asked(consents, replace(changed, hosts=("web-1",))) == ["make -j", "x"]


def test_a_harmless_plan_from_elsewhere_is_a_basis_like_none(consents: Consents) -> None:
    changed = plan_of(command("make"))
    consents.remember_made(changed, plan_of(make_step("sysbench-cpu", {})))
    assert asked(consents, changed) == []


def test_a_local_file_is_agreed_to_with_what_is_in_it(consents: Consents, tmp_path: Path) -> None:
    archive = tmp_path / "unixbench.tgz"
    plan = plan_of(make_step("unixbench", {"archive": str(archive)}))
    assert any("no such file" in text for text in asked(consents, plan))
    archive.write_bytes(b"x" * 2048)
    assert f"{archive} (2 KiB)" in asked(consents, plan)
    assert asked(consents, plan) == []
    archive.write_bytes(b"y" * 2048)
    assert f"{archive} (2 KiB)" in asked(consents, plan)
    consents.remember_made(plan)
    archive.write_bytes(b"z" * 2048)
    assert asked(consents, plan) == []


def test_tuning_asks_with_its_commands(consents: Consents) -> None:
    tuning = Tuning(drop_caches=True, scheduler="none", device="/dev/vda")
    plan = plan_of(make_step("sysbench-cpu", {}), tuning=tuning)
    shown_text = asked(consents, plan)
    assert any("drop_caches" in text for text in shown_text)
    assert MESSAGES["echo_none_sys_class_block"] in shown_text
    assert asked(consents, plan) == []
    assert asked(consents, plan_of(make_step("sysbench-cpu", {}), tuning=replace(tuning, scheduler="bfq"))) != []


def test_a_raw_device_has_a_question_of_its_own() -> None:
    for rw in ("randread", "randwrite"):
        assert parts_of(plan_of(make_step("fio", {"device": "/dev/vda", "rw": rw}))) == ()


# The memory


def digest(number: int) -> str:
    return f"{number:064x}"


def test_only_the_user_reads_it_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        ConsentFile(path).add([digest(1)])
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("torn", [b"", b"\n", b"\0" * 500, b"\xff\xfe", digest(9).encode()[:30], b"x" * 100_000])
def test_damage_costs_no_more_than_what_is_damaged(path: Path, torn: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(digest(1).encode() + b"\n" + torn)
    memory = ConsentFile(path)
    memory.add([digest(2)])
    assert {digest(1), digest(2)} <= ConsentFile(path).known()
    assert all(len(each) == 64 for each in ConsentFile(path).known())


def make_open(path: Path) -> None:
    path.write_text(f"{digest(1)}\n")
    path.chmod(0o666)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize("make", [make_open, make_pipe, make_loop, Path.mkdir])
def test_a_file_that_others_could_have_written_is_not_trusted(path: Path, make: Callable[[Path], None]) -> None:
    path.parent.mkdir()
    make(path)
    memory = ConsentFile(path)
    assert memory.known() == frozenset()
    memory.add([digest(2)])
    assert memory.known() == {digest(2)}


def test_where_nothing_can_be_written_it_is_remembered_for_this_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    memory = ConsentFile(tmp_path / "file" / "consent")
    memory.add([digest(1)])
    assert memory.known() == {digest(1)}


def test_it_stays_bounded_and_forgets_the_oldest(path: Path) -> None:
    memory = ConsentFile(path)
    for start in range(0, 3 * MOST, MOST // 2):
        ConsentFile(path).add(digest(number) for number in range(start, start + MOST // 2))
    assert path.stat().st_size <= 3 * MOST * 65
    known = memory.known()
    assert digest(3 * MOST - 1) in known
    assert digest(0) not in known


def test_several_at_once_lose_nothing(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: ConsentFile(path).add([digest(number)]), range(100)))
    assert ConsentFile(path).known() == {digest(number) for number in range(100)}
