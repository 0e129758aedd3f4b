"""Asks before a plan does more than run benchmark tools: once for its content, and never for what was made here."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.plans.agreed_memory import AgreedMemory
from app.plans.effects import Part, parts_of, texts_of
from app.plans.local_files import LocalFile, look
from app.plans.plan import Plan, host_words
from app.wording import visible
from remote.questions import Asker, ConsentItem, ConsentQuestion
from suites.base import Effect, EffectKind
from suites.errors import BenchwrightError

MOST_TEXT = 100_000
"""Characters that can be read before one agrees; a plan that does more is refused."""

LONGEST_NAME = 100
"""Characters of a name that decides nothing; the names of hosts are shown whole."""


class NotAgreedError(BenchwrightError):
    """The user did not agree to what a plan does, so nothing was begun."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A part of a plan on those of its hosts for which it was not agreed to."""

    part: Part
    hosts: tuple[str, ...]


class Consents:
    """What the user of this computer has agreed to.

    Consent is for content: for a step, its suite, its values and the content of the files of this computer that it
    copies; for the tuning, all of its values. It holds for the hosts it was given for: a command that is harmless on a
    host to be thrown away may not be so on this computer. The plan's name, its question, how often it repeats and
    other steps change nothing of what is executed, and so ask nothing again; one character in a command does.

    What was made on this computer is agreed to for every host: its author decides where it runs. This does not hold for
    a text of several lines, such as a job file: it comes from a file, whoever wrote that. A shipped preset's text is
    the user's own.
    """

    def __init__(self, memory: AgreedMemory) -> None:
        """Remember in `memory`."""
        self._memory = memory

    def settle(self, plan: Plan, asker: Asker) -> Mapping[str, str]:
        """Ask `asker` to agree to what `plan` does, where that is not known yet. May read files of this computer.

        Return the SHA-256 of each file of this computer that the plan copies, by path: what was agreed to.
        Raises NotAgreedError where the answer is no, and where the plan does more than can be shown.
        """
        parts = parts_of(plan)
        files = _files(parts)
        digests = {path: file.digest for path, file in files.items()}
        asked = self._unknown(plan, parts, files)
        if not asked:
            return digests
        question = ConsentQuestion(_name(plan.name), tuple(_items(asked, files)))
        length = sum(len(item.action) + len(item.what) + len(item.text) for item in question.items)
        if length > MOST_TEXT:
            raise NotAgreedError(
                f"The plan “{question.plan}” executes or changes more than can be shown: {length} characters, of at "
                f"most {MOST_TEXT}.",
                "Split it. Nothing was begun.",
            )
        if not asker.consent(question):
            raise NotAgreedError(
                f"The plan “{question.plan}” does more than run benchmark tools, and was not agreed to.",
                "Nothing was begun.",
            )
        self._memory.add(_agreed(each.part, host, files) for each in asked for host in each.hosts)
        return digests

    def filled_here(self, plan: Plan) -> None:
        """Remember the texts of several lines in `plan`, a shipped preset that was filled in, as the user's own."""
        self._memory.add(_own_text(text) for step in plan.steps for text in texts_of(step))

    def made_here(self, plan: Plan, basis: Plan | None = None) -> None:
        """Remember that the user made `plan` on this computer; with a `basis`, by changing that.

        A basis may be a stranger's: where it was not agreed to, neither is what was made of it. May read files of this
        computer.
        """
        known = self._memory.known()
        parts = [part for part in parts_of(plan) if all(_own_text(text) in known for text in part.texts)]
        if not parts:
            return
        if basis is None:
            self._memory.add(_made(part) for part in parts)
            return
        earlier = parts_of(basis)
        if not self._unknown(basis, earlier, _files(earlier)):
            files = _files(parts)
            self._memory.add(_agreed(part, host, files) for part in parts for host in plan.hosts)

    def _unknown(self, plan: Plan, parts: Iterable[Part], files: Mapping[str, LocalFile]) -> tuple[_Asked, ...]:
        known = self._memory.known()
        missing = [
            _Asked(part, tuple(host for host in plan.hosts if _agreed(part, host, files) not in known))
            for part in parts
            if _made(part) not in known
        ]
        return tuple(each for each in missing if each.hosts)


def _items(asked: Iterable[_Asked], files: Mapping[str, LocalFile]) -> Iterator[ConsentItem]:
    for each in asked:
        for effect in each.part.effects:
            where = (each.part.peer or "",) if effect.on_peer else each.hosts
            hosts = ", ".join(_line(host_words(host)) for host in where)
            step = f"{_name(each.part.name)}: " if each.part.name else ""
            text = visible(effect.text)
            if effect.kind is EffectKind.COPIES:
                text += visible(files[effect.text].words)
            yield ConsentItem(_ACTIONS[effect.kind].format(hosts), f"{step}{_name(effect.what)}", text)


_ACTIONS = {
    EffectKind.EXECUTES: "Executes on {}",
    EffectKind.COPIES: "Copies a file of this computer to {}",
    EffectKind.SENDS: "Sends from {}",
    EffectKind.CHANGES: "Changes {}",
}


def _line(text: str) -> str:
    return visible(text.replace("\n", " "))


def _name(text: str) -> str:
    text = _line(text)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _own_text(text: str) -> str:
    return _digest("own text", text)


def _made(part: Part) -> str:
    return _digest("made here", part.content)


def _agreed(part: Part, host: str, files: Mapping[str, LocalFile]) -> str:
    copied = [files[each.text].digest for each in _copied(part) if each.text in files]
    return _digest("agreed", part.content, host, part.peer, copied)


def _files(parts: Iterable[Part]) -> Mapping[str, LocalFile]:
    return look(effect.text for part in parts for effect in _copied(part))


def _copied(part: Part) -> Iterator[Effect]:
    return (effect for effect in part.effects if effect.kind is EffectKind.COPIES)


def _digest(*content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
