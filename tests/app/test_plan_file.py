"""Plans as files: what is written is read back, and what cannot be read says why."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.formats import read_json
from app.plans.plan import Order, Plan, PlanError, Repetition, make_step
from app.plans.plan_changes import apply_remedy
from app.plans.plan_file import format_plan, parse_plan, read_plan, write_plan
from app.plans.plan_names import automatic_name_of, on_hosts
from suites.errors import BenchwrightError
from suites.vocab import Finding, Severity

PLAN = Plan(
    name="volume",
    question="Is this volume slow?",
    hosts=("local", "web-1"),
    steps=(
        make_step("fio", {"rw": "randread", "block_size": "16k", "directory": "/var/tmp"}, name="random read"),
        make_step("iperf3", {"time": 5}, peer="web-1"),
    ),
    repetition=Repetition(trials=5, warm_ups=1, pause=2.5),
    order=Order.INTERLEAVED,
)


def test_a_plan_survives_being_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    write_plan(PLAN, path)
    assert read_plan(path) == PLAN
    assert read_plan(path).hash() == PLAN.hash()


def test_sizes_are_written_as_people_write_them() -> None:
    assert 'block_size = "16 KiB"' in format_plan(PLAN)


def test_a_plan_may_be_as_short_as_hosts_and_a_suite() -> None:
    plan = parse_plan('hosts = ["local"]\n[[step]]\nsuite = "sysbench-cpu"\n')
    assert plan.steps[0].name == "sysbench-cpu"
    assert plan.repetition == Repetition()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hosts = [", "not valid TOML"),
        ("nonsense = 1", "no “nonsense”"),
        ('hosts = ["local"]', "has no step"),
        ('[[step]]\nsuite = "fio"', "has no host"),
        ('hosts = ["local"]\n[[step]]\nsuite = "floppy"', "Unknown suite “floppy”"),
        ('hosts = ["local"]\n[[step]]\nname = "x"', "step 1 has no suite"),
        ('hosts = ["local"]\n[[step]]\nsuite = "fio"\n[step.parameters]\nblokc_size = 4', "no parameter “blokc_size”"),
        ('hosts = ["local"]\n[[step]]\nsuite = "fio"\n[step.parameters]\niodepth = 0', "iodepth: '0' is not accepted"),
        ('hosts = ["local"]\n[[step]]\nsuite = "fio"\n[step.parameters]\nrw = "sideways"', "'sideways'"),
        ('hosts = ["local"]\n[[step]]\nsuite = "fio"\n[[step]]\nsuite = "fio"', "Two steps are named “fio”"),
        ('hosts = ["local"]\n[repetition]\ntrials = 0\n[[step]]\nsuite = "fio"', "repetition.trials is 0"),
        ('hosts = ["local"]\n[repetition]\ntrials = 1.5\n[[step]]\nsuite = "fio"', "whole number"),
        ('hosts = ["local"]\n[repetition]\npause = nan\n[[step]]\nsuite = "fio"', "repetition.pause"),
        ('format = "benchwright-plan/9"\nhosts = ["local"]', "benchwright-plan/9"),
        ('hosts = "local"', "hosts is 'local'"),
        ('hosts = ["local"]\norder = "random"\n[[step]]\nsuite = "fio"', "order is 'random'"),
    ],
)
def test_a_bad_plan_is_refused_by_name(text: str, shown: str) -> None:
    with pytest.raises(BenchwrightError) as caught:
        parse_plan(text)
    assert shown in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * 2_000_000])
def test_a_file_that_is_no_plan_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(content)
    with pytest.raises(PlanError, match=r"plan\.toml"):
        read_plan(path)


def test_a_mark_of_the_encoding_before_a_plan_or_facts_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('hosts = ["local"]\n[[step]]\nsuite = "fio"\n', encoding="utf-8-sig")
    assert read_plan(path).hosts == ("local",)
    assert read_json('{"host": "a"}'.encode("utf-8-sig"), "facts.json") == {"host": "a"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="absent"):
        read_plan(tmp_path / "absent.toml")


@pytest.mark.parametrize("text", ["[a]\nrw=read\n", "\n[a]\n", '[a]\nname="""x"""\n', "[a]\\\nb\tc\n", "one line"])
def test_text_of_several_lines_is_written_as_lines_and_survives(text: str) -> None:
    plan = Plan("file", ("local",), (make_step("fio-job", {"job": text}),))
    written = format_plan(plan)
    assert parse_plan(written) == plan
    if text.startswith("[a]\nrw"):
        assert '"""[a]\nrw=read\n"""' in written


def test_an_automatic_name_follows_the_file_as_it_is_edited_by_hand() -> None:
    made = Plan("", ("web-1",), (make_step("fio", {}), make_step("fio", {}, name="fio 2")))
    made = replace(made, name=automatic_name_of(made))
    assert "name = " not in format_plan(made).replace('name = "fio 2"', "")
    text = format_plan(made).replace('hosts = ["web-1"]', 'hosts = ["web-2"]').replace('suite = "fio"', 'suite = "dd"')
    text = "\n".join(line for line in text.splitlines() if line.partition(" ")[0] in KEPT)
    edited = parse_plan(text)
    assert [step.name for step in edited.steps] == ["dd", "dd 2"]
    assert edited.name == automatic_name_of(edited) != made.name
    assert parse_plan(text.replace("hosts", 'name = "my disks"\nhosts')).name == "my disks"


def test_a_percentile_is_named_as_one() -> None:
    plan = Plan("", ("web-1",), (make_step("fio-slo", {}),))
    assert automatic_name_of(plan) == "fio-slo p99 on web-1"


KEPT = {"hosts", "[[step]]", "suite", "name"}


def test_an_automatic_name_follows_a_remedy_and_another_host() -> None:
    made = Plan("", ("web-1",), (make_step("fio", {"rw": "read"}),))
    longer = Finding("x", Severity.WARNING, "", "", "", "", "", step="fio", changes={"rw": "randread"})
    for plan in (replace(made, name=automatic_name_of(made)), replace(made, name="mine")):
        changed, moved = apply_remedy(plan, longer), on_hosts(plan, ["web-2"])
        own = plan.name == "mine"
        assert [changed.name, moved.name] == ["mine"] * 2 if own else [
            automatic_name_of(changed), automatic_name_of(moved)
        ]  # fmt: skip
    assert automatic_name_of(changed) != automatic_name_of(made)
