"""The preview of a redacted export: what is replaced and left out, and which texts stay, each with its origin."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from app.library_rows import Annotation
from app.records import RunRecord
from app.sharing.identifying_facts import PUBLIC_FACTS, text_facts
from app.sharing.ordinary_words import SHORTEST, is_ordinary
from suites.quantities import count_text

T = TypeVar("T")

SHOWN, LONGEST = 100, 500
"""Values of a kind, texts of an origin and words that the window lists, and characters of each."""

ALWAYS_KEPT = ("figures, samples and times", "standard paths and device names")
"""What stays that is no text."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A value that is replaced: its kind, what it becomes, empty if it is left out, how often, and its origins."""

    kind: str
    value: str
    new: str
    count: int
    where: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text that stays, as it is in the export, and its origin: ``plan name``, ``fact cpu.model``, ``raw output``."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class RedactionPreview:
    """What redaction replaces, what it leaves out as a whole, and what stays.

    `ordinary` are values that are replaced only where they are names, as they are ordinary words too. `unknown` are
    words that stay in raw output and that neither the help nor a suite has.
    """

    replaced: tuple[Redacted, ...]
    left_out: tuple[str, ...]
    ordinary: tuple[str, ...]
    kept: tuple[KeptText, ...]
    unknown: tuple[str, ...]

    @property
    def text(self) -> str:
        """The lines, of which the window shows some of each kind."""
        return "\n".join(self.lines(SHOWN, LONGEST))

    def lines(self, most: int | None = None, longest: int | None = None) -> Iterator[str]:
        """Yield what is replaced by kind, with values and origins, and what stays by origin.

        At most `most` values, texts or words of each, of `longest` characters; all of them without bounds.
        """
        for kind, of in _by(self.replaced, lambda one: one.kind).items():
            places = count_text(sum(one.count for one in of), "place")
            yield f"{kind}: {count_text(len(of), 'value')} in {places}"
            for one in of[:most]:
                yield f"  {_short(one.value, longest)} -> {one.new or 'left out'} ({one.count}; {', '.join(one.where)})"
            if more := _more(of, most):
                yield f"  {more}"
        yield from (f"Left out: {one}" for one in self.left_out)
        if self.ordinary:
            yield f"Replaced in names, paths and addresses only (ordinary words): {', '.join(self.ordinary)}."
        yield f"Stays: {', '.join(ALWAYS_KEPT)}, and these texts:"
        for where, kept in _by(self.kept, lambda one: one.where).items():
            texts = [*(_short(one.text, longest) for one in kept[:most]), _more(kept, most)]
            yield f"  {where}: {'; '.join(filter(None, texts))}"
        if self.unknown:
            words = ", ".join(filter(None, [*self.unknown[:most], _more(self.unknown, most)]))
            yield f"Unknown words that stay in raw output: {words}."


def kept_texts(record: RunRecord, annotation: Annotation) -> Iterator[KeptText]:
    """Yield the texts of a redacted run, but its raw output."""
    yield from (KeptText(where, text) for where, text in _texts(record, annotation) if text)


def _texts(record: RunRecord, annotation: Annotation) -> Iterator[tuple[str, str]]:
    yield "plan name", record.plan.name
    yield "question", record.plan.question
    yield "run name", annotation.name
    yield "note", annotation.note
    yield from (("tag", tag) for tag in annotation.tags)
    for step in record.plan.steps:
        yield "step", step.name
    for facts in (*record.facts_before.values(), *record.facts_after.values()):
        yield from ((f"fact {path}", text) for path, text in text_facts(facts) if path in PUBLIC_FACTS)
    for trial in record.trials:
        yield from (("command line", command.line) for command in trial.trial.commands)
        yield from (("note of a trial", note) for note in (*trial.notes, trial.reason))
        yield "tool version", trial.trial.tool_version or ""
        yield from (("label", f"{key}={value}") for figure in trial.figures for key, value in figure.labels)
    yield from (("finding", finding.measured) for finding in record.findings)


def unknown_words(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the words of `texts` that are not ordinary and have no digit, each once."""
    return tuple(dict.fromkeys(word for text in texts for word in _WORD.findall(text) if not is_ordinary(word)))


_WORD = re.compile(rf"(?<![\w.-])[^\W\d_]{{{SHORTEST},40}}(?![\w.-])")


def _by(found: Iterable[T], key: Callable[[T], str]) -> Mapping[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return groups


def _more(found: Sequence[object], most: int | None) -> str:
    """Return the number of what follows the first `most`; empty for none."""
    left = len(found) - len(found[:most])
    return f"and {left} more (all: benchwright export RUN --preview)" if left else ""


def _short(text: str, longest: int | None) -> str:
    line = " ".join(text.split())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"
