"""Outputs in logs of JSON objects, as containers and journald write them: every figure stays that of its source."""

import json
from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path

import pytest

from app.outputs.files import judged_bytes

DATA = Path(__file__).parents[1] / "data"

CAPTURES = ("fio/2.21/json_final", "iperf3/3.12/udp_P2_text", "sysbench/1.0.20/cpu_default")

Figures = list[tuple[str, str, str, float]]


def captured(name: str) -> str:
    return (DATA / f"{name}.stdout").read_text()


def figures(text: str) -> Figures:
    return sorted(
        (one.found.output.suite_id, figure.metric.name, str(figure.labels), figure.value)
        for one in judged_bytes("paste", text.encode()).outputs
        for figure in one.found.output.parsed.figures
    )


def log(objects: Iterable[object], before: str = "") -> str:
    return "".join(f"{before}{json.dumps(one)}\n" for one in objects)


def docker(text: str, **more: str) -> list[dict[str, str]]:
    """Return the messages of Docker about `text`: at most 16 KiB each, whatever the length of its lines."""
    pieces = (
        line[start : start + 2**14]
        for line in text.splitlines(keepends=True)
        for start in range(0, len(line), 2**14)
    )  # fmt: skip
    return [{"log": piece, "stream": "stdout", "time": "2026-11-28T12:00:00.1Z", **more} for piece in pieces]


def test_a_line_that_docker_wrote_in_pieces_is_one() -> None:
    document = json.loads(captured("fio/2.21/json_final"))
    whole = json.dumps({**document, "padding": "x" * 40_000}) + "\n"
    messages = docker(whole)
    assert len(messages) > 2
    assert figures(log(messages)) == figures(whole) != []


@pytest.mark.parametrize("name", CAPTURES)
def test_journald_writes_bytes(name: str) -> None:
    lines = captured(name).splitlines()
    as_bytes = log({"_PID": "912", "MESSAGE": list(line.encode())} for line in lines)
    assert figures(as_bytes) == figures(captured(name)) != []


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("before", ["bench-1  | ", "2026-11-28T12:00:00Z stdout F ", "Nov 28 12:00:00 web-1 app[3]: "])
def test_messages_behind_a_prefix_are_read(name: str, before: str) -> None:
    text = log(({"level": "info", "msg": line} for line in captured(name).splitlines()), before)
    assert figures(text) == figures(captured(name)) != []


@pytest.mark.parametrize("name", CAPTURES)
def test_a_key_tells_containers_apart_whose_lines_alternate(name: str) -> None:
    other = captured("sysbench/1.0.20/memory_read")
    of_each = [
        [{"kubernetes": {"container_name": source}, "message": line} for line in text.splitlines()]
        for source, text in (("a", captured(name)), ("b", other))
    ]
    mixed = [one for one in chain.from_iterable(zip_longest(*of_each)) if one is not None]
    assert figures(log(mixed)) == sorted(figures(captured(name)) + figures(other))


def test_numbers_that_are_no_bytes_are_no_message() -> None:
    assert figures(log([{"MESSAGE": [300, -1]}, {"MESSAGE": [1.5]}, {"MESSAGE": [True, None]}])) == []
