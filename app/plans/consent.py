"""Consent to plans that do more than run benchmark tools: asked once per content, never for plans made here."""

import hashlib
import json
import logging
import os
import re
import shlex
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.output import visible
from app.paths import replaceable_by_others
from app.plans.context import step_context
from app.plans.plan import Plan, Step, host_label
from app.plans.tuning import setting_command, setting_title, tuning_values
from remote.jobs.files import LARGEST
from remote.local_directory import make_directory
from remote.questions import Asker, ConsentItem, ConsentQuestion
from remote.tuning import DROP_CACHES
from suites.base import Effect, EffectKind, effects_of
from suites.errors import BenchwrightError, UnknownSuiteError
from suites.parameters import Type
from suites.perf import MOST_FREQUENCY, profiled_argv
from suites.quantities import quantity


@dataclass(frozen=True, slots=True)
class ConsentPart:
    """A step, or the tuning, with its effects on the hosts of the plan.

    `content` is the JSON of everything that decides its effects. `name` is the step's, empty for the tuning. `texts`
    are its multi-line values, which come from a file or a preset rather than from typing.
    """

    name: str
    content: str
    effects: tuple[Effect, ...]
    peer: str | None = None
    texts: tuple[str, ...] = ()


def parts_of(plan: Plan) -> tuple[ConsentPart, ...]:
    """Return the parts of `plan` that need consent; none if it only runs benchmark tools."""
    return (*_steps(plan), *_tuning(plan), *_profile(plan))


def _steps(plan: Plan) -> Iterator[ConsentPart]:
    for step in plan.steps:
        # Without facts: effects must not depend on what a host reports.
        steps = {host: step.on(host) for host in (plan.hosts if step.by_host else plan.hosts[:1])}
        effects = dict.fromkeys(
            effect
            for host, own in steps.items()
            for effect in effects_of(own.suite, own.whole_values(), step_context(own, host, {}))
        )
        if effects:
            yield ConsentPart(step.name, _content(step), tuple(effects), step.peer, texts_of(step))


def _content(step: Step) -> str:
    """Return the suite and its non-default values, so that a parameter added later does not change the content."""
    values, known = step.whole_values(), step.suite.parameters
    given = {each.name: values[each.name] for each in known if values[each.name] != each.default}
    tables = {"by_host": {name: dict(found) for name, found in step.by_host.items()}} if step.by_host else {}
    return json.dumps({"suite": step.suite_id, "values": given, **tables}, sort_keys=True)


def texts_of(step: Step) -> tuple[str, ...]:
    """Return the multi-line values of `step`."""
    values = step.whole_values()
    lines = [each.name for each in step.suite.parameters if each.type is Type.LINES]
    return tuple(str(values[name]) for name in lines if values[name])


def _tuning(plan: Plan) -> Iterator[ConsentPart]:
    tuning = plan.tuning
    put_back = "as root, before the first trial; put back after the last"
    effects = [
        Effect(EffectKind.CHANGES, setting_command(setting), f"{setting_title(setting)}, {put_back}")
        for setting in tuning.settings
    ]
    if tuning.drop_caches:
        effects.append(Effect(EffectKind.CHANGES, DROP_CACHES, "page cache, as root, before each trial"))
    if effects:
        yield ConsentPart("", json.dumps({"tuning": tuning_values(tuning)}, sort_keys=True), tuple(effects))


def _profile(plan: Plan) -> Iterator[ConsentPart]:
    if plan.repetition.profile:
        command = shlex.join(profiled_argv(["COMMAND"], 0, MOST_FREQUENCY))
        effect = Effect(EffectKind.EXECUTES, command, "stacks of each step's processes, sampled after the other trials")
        yield ConsentPart("", json.dumps({"profile": True}), (effect,))


def needs_person(plan: Plan) -> str:
    """Return what the plan does to its hosts that must be allowed anew for each session; empty if it does nothing.

    Plans that overwrite a device, act as root or change files or databases do not repeat unattended.
    """
    try:
        parts = parts_of(plan)
    except UnknownSuiteError as error:
        return error.message
    for step in (own for host in plan.hosts for own in plan.steps_on(host)):
        if step.suite.destroys(step.whole_values()):
            return f"{step.name} overwrites a device"
    for part in parts:
        if any(effect.kind is EffectKind.CHANGES for effect in part.effects):
            return f"{part.name} changes its host" if part.name else "the plan changes settings as root"
    return ""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file: text to show behind its path, and the SHA-256 of its content, empty if it cannot be copied."""

    description: str
    digest: str


def describe_files(paths: Iterable[str]) -> Mapping[str, LocalFile]:
    """Describe the files at `paths`. Open regular files of at most LARGEST bytes only: a FIFO would block."""
    return {path: _describe_file(path) for path in paths}


def _describe_file(path: str) -> LocalFile:
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            return LocalFile(" (not a regular file: it cannot be copied)", "")
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        resolved = os.path.realpath(path)
    except OSError as error:
        return LocalFile(f" ({(error.strerror or 'cannot be read').lower()})", "")
    leads = "" if resolved == str(Path(path)) else f", resolves to {resolved}"
    return LocalFile(f" ({quantity(found.st_size)}{leads})", digest)


log = logging.getLogger(__name__)

MOST = 20_000
"""Digests that are kept; older ones are dropped, so that consent is asked again."""

_LINE = re.compile(rb"[0-9a-f]{64}")
_SIZE = 65
"""Bytes of a digest and its newline."""


class ConsentFile:
    """A file of digests, one on each line.

    Its mode is 0600. A file that others may write or replace is ignored, as are lines that are not digests. If the file
    cannot be written, digests are remembered until this process ends. Several processes may add concurrently.
    """

    def __init__(self, path: Path) -> None:
        """Use the file at `path`, created with the first digest."""
        self._path = path
        self._own: set[str] = set()
        self._lock = threading.Lock()

    def known(self) -> frozenset[str]:
        """Return all digests."""
        with self._lock:
            return frozenset(self._own.union(self._read()))

    def add(self, digests: Iterable[str]) -> None:
        """Add digests."""
        with self._lock:
            new = set(digests) - self._own - set(self._read())
            self._own |= new
            if new:
                try:
                    self._append(sorted(new))
                except OSError:
                    log.warning("cannot write consent: remembered for this process only", exc_info=True)

    def _read(self) -> list[str]:
        try:
            if replaceable_by_others(self._path):
                log.warning("consent ignored: other accounts may replace %s", self._path)
                return []
            with os.fdopen(self._open(os.O_RDONLY), "rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 2 * MOST * _SIZE))
                content = file.read(2 * MOST * _SIZE)
        except OSError:
            return []
        return [line.decode() for line in content.split(b"\n") if _LINE.fullmatch(line)][-MOST:]

    def _append(self, new: list[str]) -> None:
        make_directory(self._path.parent)
        try:
            descriptor = self._open(os.O_RDWR | os.O_APPEND | os.O_CREAT)
        except PermissionError:
            self._path.unlink()  # owned by, or writable for others: not trusted
            descriptor = self._open(os.O_RDWR | os.O_APPEND | os.O_CREAT)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
            # A last line without newline is a torn append: end it, so that the new digest stays readable.
            file.write(b"\n" * torn + "".join(f"{digest}\n" for digest in new).encode())
        if size > 2 * MOST * _SIZE:
            self._shorten()

    def _shorten(self) -> None:
        """Keep the newest digests only. A concurrent append may be lost; consent is then asked again."""
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        content = "".join(f"{digest}\n" for digest in self._read())
        with suppress(FileNotFoundError):
            temporary.unlink()
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(content)
        temporary.replace(self._path)

    def _open(self, flags: int) -> int:
        """Open the file; raise PermissionError unless it is a regular file, the user's, and not writable for others."""
        descriptor = os.open(self._path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            os.close(descriptor)
            raise PermissionError(f"{self._path} is not the user's own")
        return descriptor


MOST_TEXT = 100_000
"""Characters of a question that a person can read; plans with more are refused."""

LONGEST_NAME = 100
"""Characters shown of a plan's or step's name; host names are never cut."""


class NotAgreedError(BenchwrightError):
    """Consent was refused; nothing was started."""


@dataclass(frozen=True, slots=True)
class _Missing:
    """A part of a plan and the hosts that lack consent to it."""

    part: ConsentPart
    hosts: tuple[str, ...]


class Consents:
    """The consents of the user of this computer.

    Consent covers content and host. The content of a step is its suite, its values and the content of the local files
    that it copies; that of the tuning is all of its values. Name, question, repetition and other steps of the plan are
    no part of it. Consent is per host because a command that is harmless on a disposable host may harm another.

    Steps made on this computer have consent for every host, except multi-line values such as job files: they come from
    a file that someone else may have written. The texts of shipped presets count as the user's own.
    """

    def __init__(self, memory: ConsentFile) -> None:
        """Keep consents in `memory`."""
        self._memory = memory

    def settle(self, plan: Plan, asker: Asker) -> Mapping[str, str]:
        """Ask `asker` for the consents that `plan` lacks. May read local files.

        Return the SHA-256 of each local file that the plan copies, by path, so that a file changed since is noticed.
        Raises NotAgreedError if the answer is no, or if the question is too long to show.
        """
        parts = parts_of(plan)
        files = _files(parts)
        digests = {path: file.digest for path, file in files.items()}
        missing = self._unknown(plan, parts, files)
        if not missing:
            return digests
        question = ConsentQuestion(_name(plan.name), tuple(_items(missing, files)))
        length = sum(len(item.action) + len(item.what) + len(item.text) for item in question.items)
        if length > MOST_TEXT:
            raise NotAgreedError(
                f"The plan “{question.plan}” has {length} characters of commands and changes; at most {MOST_TEXT} "
                f"can be shown.",
                "Split the plan. Nothing was started.",
            )
        if not asker.consent(question):
            raise NotAgreedError(
                f"The plan “{question.plan}” does more than run benchmark tools. Consent was refused.",
                "Nothing was started.",
            )
        self._memory.add(_agreed(each.part, host, files) for each in missing for host in each.hosts)
        return digests

    def remember_filled(self, plan: Plan) -> None:
        """Remember the multi-line values of `plan`, a filled-in shipped preset, as the user's own."""
        self._memory.add(_text_digest(text) for step in plan.steps for text in texts_of(step))

    def remember_made(self, plan: Plan, basis: Plan | None = None) -> None:
        """Remember that the user made `plan` on this computer, by editing `basis` if given.

        The basis may come from someone else: without consent to it, there is none to the edited plan. May read local
        files.
        """
        known = self._memory.known()
        parts = [part for part in parts_of(plan) if all(_text_digest(text) in known for text in part.texts)]
        if not parts:
            return
        if basis is None:
            self._memory.add(_made(part) for part in parts)
            return
        earlier = parts_of(basis)
        if not self._unknown(basis, earlier, _files(earlier)):
            files = _files(parts)
            self._memory.add(_agreed(part, host, files) for part in parts for host in plan.hosts)

    def _unknown(
        self, plan: Plan, parts: Iterable[ConsentPart], files: Mapping[str, LocalFile]
    ) -> tuple[_Missing, ...]:
        known = self._memory.known()
        missing = [
            _Missing(part, tuple(host for host in plan.hosts if _agreed(part, host, files) not in known))
            for part in parts
            if _made(part) not in known
        ]
        return tuple(each for each in missing if each.hosts)


def _items(missing: Iterable[_Missing], files: Mapping[str, LocalFile]) -> Iterator[ConsentItem]:
    for each in missing:
        for effect in each.part.effects:
            where = (each.part.peer or "",) if effect.on_peer else each.hosts
            hosts = ", ".join(_line(host_label(host)) for host in where)
            step = f"{_name(each.part.name)}: " if each.part.name else ""
            text = visible(effect.text)
            if effect.kind is EffectKind.COPIES:
                text += visible(files[effect.text].description)
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


def _text_digest(text: str) -> str:
    return _digest("own text", text)


def _made(part: ConsentPart) -> str:
    return _digest("made here", part.content)


def _agreed(part: ConsentPart, host: str, files: Mapping[str, LocalFile]) -> str:
    copied = [files[each.text].digest for each in _copied(part) if each.text in files]
    return _digest("agreed", part.content, host, part.peer, copied)


def _files(parts: Iterable[ConsentPart]) -> Mapping[str, LocalFile]:
    return describe_files(effect.text for part in parts for effect in _copied(part))


def _copied(part: ConsentPart) -> Iterator[Effect]:
    return (effect for effect in part.effects if effect.kind is EffectKind.COPIES)


def _digest(*content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
