"""Engines are offered as fio on the host has them and its kernel permits them."""

from dataclasses import replace

import pytest

from suites.base import Context, tuned_values
from suites.checks import NotChecked
from suites.facts import Absent, Facts, Tool
from suites.fio.suite import Fio
from suites.vocab import Severity
from tests.disk_host import ENGINES, changes, disk_host, measured, outcomes, tuned_step
from tests.messages import messages

MESSAGES = messages("suites", "test_fio_engines")

FIO = Fio()


def host(*engines: str, io_uring: int | None = None, user: str = "ann") -> Facts:
    facts = disk_host(user=user)
    tools = tuple(replace(tool, engines=engines) if tool.name == "fio" else tool for tool in facts.tools)
    switch = Absent("the kernel has no such switch") if io_uring is None else io_uring
    return replace(facts, tools=tools, system=replace(facts.system, io_uring_disabled=switch))


def test_an_engine_that_fio_lacks_is_an_error_with_one_that_it_has() -> None:
    step = tuned_step(FIO, host("psync", "libaio"), ioengine="io_uring")
    assert measured(step, "engine-missing") == MESSAGES["fio_on_this_host_has_no_io"]
    assert changes(step, "engine-missing") == {"ioengine": "libaio"}
    assert next(check.severity for check in FIO.checks if check.id == "engine-missing") is Severity.ERROR
    bare = tuned_step(FIO, host("psync"), ioengine="libaio")
    assert changes(bare, "engine-missing") == {"ioengine": "psync", "iodepth": 1}


@pytest.mark.parametrize(
    ("switch", "user", "refused"),
    [
        (2, "root", True),
        (2, "ann", True),
        (1, "ann", True),
        (1, "root", False),
        (0, "ann", False),
        (None, "ann", False),
    ],
)
def test_io_uring_is_refused_where_the_kernel_refuses_it(switch: int | None, user: str, refused: bool) -> None:  # noqa: FBT001 (one of a table)
    step = tuned_step(FIO, host(*ENGINES, io_uring=switch, user=user), ioengine="io_uring")
    assert ("engine-missing" in outcomes(step)) == refused
    if refused:
        assert measured(step, "engine-missing").startswith(f"kernel.io_uring_disabled is {switch}, for {user}")


def test_a_fio_without_libaio_is_tuned_to_one_io_at_a_time() -> None:
    values = tuned_values(FIO, Context(host("psync")))
    assert (values["ioengine"], values["iodepth"], values["direct"]) == ("psync", 1, True)


def test_engines_that_are_not_known_are_not_judged() -> None:
    facts = disk_host()
    step = tuned_step(FIO, replace(facts, tools=(Tool(name="fio", version="fio-3.33"),)))
    assert isinstance(outcomes(step)["engine-missing"], NotChecked)
