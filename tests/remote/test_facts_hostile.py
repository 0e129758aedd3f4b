"""Whatever a host answers, the facts are read without a crash, and nothing false or harmful gets in."""

import dataclasses
import math
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote.facts.items import count_cpus, number, parse_items, whole
from remote.probe import understand
from suites.facts import Absent, Core, Facts

DATA = Path(__file__).parent.parent / "data" / "facts"
MARK = "0123456789abcdef"
CAPTURED = {path.stem: path.read_bytes() for path in DATA.glob("*.txt")}
HUGE = [
    b"9" * 30,
    b"-1",
    b"1e400",
    b"nan",
    b"0x10",
    b"18446744073709551615",
    b"\xff\xfe",
    b"\x1b[31m",
    "\u202e".encode(),
]


def facts_of(output: bytes) -> Facts:
    return understand(parse_items(output, MARK), "host", "")


def frame(name: str, value: str) -> bytes:
    return f"@@{MARK} {name} {len(value.encode())}\n{value}\n".encode()


def check(value: object) -> None:
    """Fail where a fact is text that could harm a terminal, or a number that cannot be."""
    if isinstance(value, str):
        assert len(value) <= 4096
        assert not any(unicodedata.category(character) in {"Cc", "Cf"} for character in value), value
    elif isinstance(value, bool):
        return
    elif isinstance(value, int | float):
        assert math.isfinite(value)
        assert abs(value) <= 2**63
    elif isinstance(value, tuple):
        assert len(value) <= 512
        for part in value:
            check(part)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            check(getattr(value, field.name))
    else:
        pytest.fail(f"{value!r} is no fact")


@given(st.binary(max_size=2000))
def test_any_bytes_are_read(output: bytes) -> None:
    check(facts_of(output))


@given(
    name=st.sampled_from(sorted(CAPTURED)),
    start=st.integers(0, 13_000),
    length=st.integers(0, 40),
    patch=st.one_of(st.sampled_from(HUGE), st.binary(max_size=40)),
)
def test_damaged_answers_are_read(name: str, start: int, length: int, patch: bytes) -> None:
    output = CAPTURED[name]
    check(facts_of(output[:start] + patch + output[start + length :]))


@given(name=st.sampled_from(sorted(CAPTURED)), data=st.data())
def test_every_item_may_say_anything(name: str, data: st.DataObject) -> None:
    items = parse_items(CAPTURED[name], MARK)
    chosen = data.draw(st.sampled_from(sorted(items.values)))
    garbage = data.draw(
        st.one_of(st.text(max_size=200), st.sampled_from([part.decode("utf-8", "replace") for part in HUGE]))
    )
    original = items.values[chosen][0]
    position = data.draw(st.integers(0, len(original)))
    text = data.draw(st.sampled_from([garbage, original[:position] + garbage + original[position:]]))
    forged = CAPTURED[name].replace(frame(chosen, original), frame(chosen, text))
    check(facts_of(forged))


@given(st.integers(0, 14_000))
def test_an_answer_may_end_anywhere(end: int) -> None:
    for output in CAPTURED.values():
        check(facts_of(output[:end]))


def test_a_value_cannot_pose_as_another_item() -> None:
    forged = frame("uname", f"a b c\n{frame('meminfo', 'MemTotal: 1 kB').decode()}")
    items = parse_items(forged + frame("end", "."), MARK)
    assert items.text("meminfo") is None


def test_another_mark_is_noise() -> None:
    other = frame("uname", "evil 1 x86_64").replace(MARK.encode(), b"f" * 16)
    facts = facts_of(b"Welcome to the host\n" + other + frame("uname", "good 2 x86_64") + frame("end", "."))
    assert facts.system.host_name == "good"


def test_a_length_that_lies_costs_only_its_item() -> None:
    short = f"@@{MARK} uptime 99999\n12.5 3\n".encode()
    facts = facts_of(short + frame("uname", "good 2 x86_64") + frame("end", "."))
    assert facts.system.host_name == "good"
    assert isinstance(facts.system.uptime, Absent)


def test_absurd_numbers_are_absent() -> None:
    output = frame("meminfo", "MemTotal: 99999999999999999999 kB\nSwapTotal: 5 kB\nSwapFree: 9 kB")
    output += frame("cpu.online", "0-99999999") + frame("block", "sda/size:99999999999999999999\nsda/dev:8:0")
    facts = facts_of(output + frame("end", "."))
    assert isinstance(facts.memory.total, Absent)
    assert isinstance(facts.memory.swap_used, Absent)
    assert isinstance(facts.cpu.threads, Absent)
    assert isinstance(facts.block_devices[0].size, Absent)


def test_a_flood_is_bounded() -> None:
    cpus = "\n".join(f"1 Data {number} {number}K" for number in range(1, 5000))
    interfaces = "\n".join(f"eth{number}/mtu:1500" for number in range(5000))
    mounts = "\n".join(f"{number} 1 8:1 / /m{number} rw - ext4 /dev/sda rw" for number in range(1000))
    facts = facts_of(
        frame("cpu.caches", cpus[:60000]) + frame("net", interfaces[:60000]) + frame("mounts", mounts[:60000])
    )
    assert len(facts.interfaces) <= 64
    assert len(facts.file_systems) <= 128
    check(facts)


def test_words_lose_their_escapes() -> None:
    facts = facts_of(frame("os_release", 'PRETTY_NAME="evil\x1b]0;owned\x07 \u202eos"\nID=x') + frame("end", "."))
    assert facts.system.distribution == "evil ]0;owned os"


@given(st.text(max_size=30))
def test_numbers_are_numbers_or_none(text: str) -> None:
    for found in (whole(text, -5, 5), number(text, -5.0, 5.0), count_cpus(text)):
        assert found is None or -5 <= found <= 65536


def test_what_stands_around_a_number_does_no_harm() -> None:
    assert whole("4\x1f") == 4
    assert number("2.5\x1e\n") == 2.5


def test_cpu_lists() -> None:
    assert count_cpus("0-3,8,10-11") == 7
    assert count_cpus("3-1") is None
    assert count_cpus("") is None
    assert count_cpus("0-") is None


TOPOLOGY = frame("cpu.cores", "0,4\n1,5\n2,6\n3,7") + frame("status", "Cpus_allowed_list:\t0-2,4-7")


def test_the_usable_cores_have_their_node_and_package() -> None:
    lists = frame("cpu.package_lists", "0-7") + frame("cpu.node_lists", "0,2,4,6\n1,3,5,7")
    layout = facts_of(TOPOLOGY + lists + frame("end", ".")).cpu.layout
    assert layout == (
        Core(cpus=(0, 4), node=0, package=0),
        Core(cpus=(2, 6), node=0, package=0),
        Core(cpus=(1, 5), node=1, package=0),
        Core(cpus=(7,), node=1, package=0),
    )


def test_cores_without_lists_of_nodes_are_of_one() -> None:
    layout = facts_of(TOPOLOGY + frame("end", ".")).cpu.layout
    assert isinstance(layout, tuple)
    assert {(core.node, core.package) for core in layout} == {(0, 0)}


@pytest.mark.parametrize("cores", ["0-1\n1-2", "\n".join(str(cpu) for cpu in range(600)), "x", "3-1"])
def test_siblings_that_cannot_be_are_no_topology(cores: str) -> None:
    found = facts_of(frame("cpu.cores", cores) + frame("status", "Cpus_allowed_list:\t0-599") + frame("end", "."))
    assert isinstance(found.cpu.layout, Absent)
