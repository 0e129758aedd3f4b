"""Reads the lines that our own probes print (see resources/probes/probe.h), as they arrive."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from suites.base import LineSplitter, Parsed
from suites.tool_words import how_it_ended, tool_words
from suites.vocab import Figure, Sample

MAXIMUM_SAMPLES = 200_000
"""Two samples a second for a day; a broken probe prints more."""

MAXIMUM_FAILURES = 5
"""Messages of failure that are repeated in notes."""

_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,9})?")
_HEAD = re.compile(r"# ([a-z0-9-]{1,40}) (\S.{0,400})")
_FAILURE = re.compile(
    r"error (?P<words>\S.*)"
    r"|(?P<shell>Killed|Illegal instruction.*"
    r"|.*: (?:(?:command )?not found|Permission denied|No such file or directory))"
)


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a probe: its first word, and the rest in pairs of name and value."""

    kind: str
    words: Mapping[str, str]

    def number(self, name: str) -> float | None:
        """Return the number `name`, or None where there is none."""
        text = self.words.get(name, "")
        return float(text) if _NUMBER.fullmatch(text) else None

    def count(self, name: str) -> int | None:
        """Return the whole number `name`, or None where there is none."""
        text = self.words.get(name, "")
        return int(text) if re.fullmatch(r"\d{1,18}", text) else None


def read_record(line: str) -> Record | None:
    """Return the record in `line`, or None where it is none: a kind, then names and values in turn."""
    kind, *words = line.split(" ")
    if not re.fullmatch(r"[a-z]{1,20}", kind) or len(words) % 2 or not all(words):
        return None
    return Record(kind, dict(zip(words[::2], words[1::2], strict=True)))


@dataclass(slots=True)
class Head:
    """What a probe says of itself before it begins: ``# compiler gcc 12.2.0``."""

    words: dict[str, str] = field(default_factory=dict)

    def read(self, line: str) -> bool:
        """Take `line` where it is of the head; each word counts once."""
        match = _HEAD.fullmatch(line)
        if match is not None:
            self.words.setdefault(match[1], tool_words(match[2]))
        return match is not None

    def version(self, program: str) -> str | None:
        """Return the probe's version, compiler and options in words, or None where they are not all told.

        A shipped probe is named by the first digits of its SHA-256, too.
        """
        parts = [self.words.get(name) for name in (f"benchwright-{program}", "compiler", "options")]
        if not all(parts):
            return None
        digest = self.words.get("sha256", "")
        if re.fullmatch(r"[0-9a-f]{64}", digest):
            parts.append(f"shipped, sha256 {digest[:16]}")
        return ", ".join(part for part in parts if part)


class Reader(Protocol):
    """What is a probe's own: what its records mean."""

    def take(self, record: Record) -> list[Sample]:
        """Take a record; return the samples it holds."""
        ...

    def conclude(self, head: Head) -> tuple[list[Figure], list[str]]:
        """Return the figures and notes of all records."""
        ...


class ProbeParser:
    """One trial's parser: the parts that all probes share."""

    def __init__(self, program: str, reader: Reader) -> None:
        self._program = program
        self._reader = reader
        self._lines = LineSplitter()
        self._head = Head()
        self._samples: list[Sample] = []
        self._failures: list[str] = []
        self._done = False

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Take the next bytes; return the samples they complete."""
        before = len(self._samples)
        for line in self._lines.feed(data, stream):
            self._read(line.rstrip())
        return self._samples[before:]

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means. A last line that nothing ended may lack digits: it counts as cut off."""
        for line in self._lines.rest():
            self._fail(line.rstrip())
        if not self._ours():
            note = f"This is not the output of Benchwright's probe {self._program}, or its beginning is missing."
            return Parsed(notes=(*self._failures, note), complete=False)
        figures, notes = self._reader.conclude(self._head)
        troubles = self._troubles(exit_status)
        if not figures and not troubles:
            troubles = [f"{self._program} ended without a figure that can be read."]
        version = self._head.version(self._program)
        return Parsed(tuple(figures), tuple(self._samples), (*troubles, *notes), not troubles, version)

    def _ours(self) -> bool:
        """Whether the probe introduced itself, or nothing but its failure to start was said."""
        started = f"benchwright-{self._program}" in self._head.words
        return started or bool(self._failures and not self._samples and not self._done)

    def _read(self, line: str) -> None:
        if self._head.read(line) or self._fail(line):
            return
        if line == "done":
            self._done = True
            return
        record = read_record(line)
        samples = self._reader.take(record) if record is not None else []
        last = self._samples[-1].time if self._samples else 0.0
        if len(self._samples) < MAXIMUM_SAMPLES and all(sample.time >= last for sample in samples):
            self._samples += samples

    def _fail(self, line: str) -> bool:
        match = _FAILURE.fullmatch(line)
        if match is None:
            return False
        if len(self._failures) < MAXIMUM_FAILURES:
            self._failures.append(f"{self._program} failed: {tool_words(match['words'] or match['shell'])}.")
        return True

    def _troubles(self, exit_status: int | None) -> list[str]:
        troubles = list(self._failures)
        if not self._done and not troubles:
            last = f" The live figures up to {self._samples[-1].time:.3g} s are kept." if self._samples else ""
            troubles.append(f"{self._program} was cut off: its last line is missing.{last}")
        if exit_status:
            troubles.append(f"{self._program} {how_it_ended(exit_status)}.{_HINTS.get(exit_status, '')}")
        return troubles


_HINTS = {
    126: " The directory it lies in may be mounted with noexec; choose another home or temporary directory.",
    132: " It was built for another processor: set build to “shipped”.",
}
"""What an exit status means: 126, the file may not be run; 128 + 4, SIGILL, an instruction the processor lacks."""
