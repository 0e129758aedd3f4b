"""Redaction: names, addresses, serial numbers, ids and paths are replaced by value, in the same way everywhere."""

import getpass
import ipaddress
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from app.hosts.hosts import HostEntry
from app.library_rows import Annotation
from app.plans.plan import ELSEWHERE, LOCAL, Plan
from app.records import RunRecord
from app.sharing.ordinary_words import SHORTEST, is_ordinary, words_of
from app.sharing.replacement import Replacement
from suites.facts import Absent, Facts
from suites.quantities import count_text

IDENTIFYING_FACTS: Mapping[str, str] = {
    "host": "host",
    "system.host_name": "host",
    "system.boot_id": "id",
    "system.user": "user",
    "system.command_line": "places",
    "system.workstation_address": "places",
    "cloud.instance_id": "id",
    "measured.foreign_processes.name": "process",
    "measured.foreign_disks.name": "volume",
    "block_devices.name": "volume",
    "block_devices.serial": "serial",
    "block_devices.parent": "volume",
    "block_devices.backing_file": "path",
    "file_systems.mount": "path",
    "file_systems.source": "place",
    "file_systems.options": "places",
    "directories.path": "path",
    "directories.mount": "path",
    "directories.device": "volume",
    "directories.volume": "volume",
    "directories.guard": "places",
    "devices.path": "path",
    "devices.node": "path",
    "devices.serial": "serial",
    "devices.by_id": "path",
    "devices.backing_file": "path",
    "devices.uses": "words",
    "devices.signatures": "words",
    "devices.state": "words",
    "interfaces.name": "interface",
    "interfaces.addresses": "places",
    "tools.path": "path",
    "cloud_limits.device": "volume",
    "cloud_limits.volume": "id",
}
"""Facts that identify a host, a person or an account, by their path in Facts, and how their values are taken."""

PUBLIC_FACTS = frozenset({
    "read_at", "system.kernel", "system.architecture", "system.distribution", "system.distribution_id",
    "system.distribution_version", "system.distribution_like", "system.virtualisation", "system.container",
    "system.clock_source", "cloud.provider", "cloud.instance_type", "cloud.region", "cloud.baseline", "cpu.model",
    "cpu.microcode", "cpu.mitigations", "cpu.flags", "cpu.governor", "cpu.energy_preference", "cpu.energy_counters",
    "cpu.hyperthreading", "cpu.caches.kind", "memory.transparent_huge_pages", "block_devices.kind",
    "block_devices.model", "block_devices.scheduler", "file_systems.kind", "directories.kind", "directories.upper",
    "directories.attributes", "devices.kind", "devices.model", "interfaces.state", "interfaces.driver",
    "tools.name", "tools.version", "tools.engines", "cloud_limits.name", "cloud_limits.unit",
    "cloud_limits.instance_type",
})  # fmt: skip
"""Facts in text that others share: models, versions, kinds."""

_KERNEL_NAME = re.compile(
    r"(?:[shv]d[a-z]+\d*|xvd[a-z]+\d*|nvme\d+(?:n\d+(?:p\d+)?)?|mmcblk\d+(?:p\d+)?|(?:dm-|md|loop|sr|zram|ram|nbd)\d+"
    r"|lo|eth\d+|en[opsdP]\w{1,12}|wl\w{1,8}|bond\d+|virbr\d+|docker\d+|veth\w*)"
)
"""Names that the kernel or udev gives to devices; one made of a MAC address (enx…) is not among them."""

_ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w:]|\.\d)"
)
_MAC = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}(?![\w:-])")
_UUID = re.compile(r"(?<!\w)[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?!\w)")
_CLOUD_ID = re.compile(r"(?<!\w)(?:i|vol|eni|snap|ami|subnet|vpc)-?[0-9a-f]{8,17}(?!\w)")
_PATH = re.compile(r"(?<![\w/.-])~?/[^\s\"'=:,;()<>|\\]+")
_ACCOUNT = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]*)@([\w.-]*\w)")
_URL = re.compile(r"://(?:([^\s/@:]+)(?::([^\s/@]+))?@)?(\[[^\]]+\]|[^\s/:?#\"']+)")
_UNAME = re.compile(r"\bLinux (\S+) \d+\.\d+")
_HOME = re.compile(r"/home/([^\s/:\"']+)")
_SECRET = re.compile(
    r"(?:^|[\s?&;-])((?:[\w-]*(?:user|login|pass|password|secret|token|host|server|key|dbname|database|db))[= ])"
    r"([^\s&;,\"']+)", re.IGNORECASE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Redacted:
    """A value that is replaced: its kind, what it becomes, and in how many places it was."""

    kind: str
    value: str
    new: str
    count: int


@dataclass(frozen=True, slots=True)
class RedactionPreview:
    """What redaction replaces, and what it leaves: ordinary words in running text, and texts that stay."""

    replaced: tuple[Redacted, ...]
    ordinary: tuple[str, ...]
    kept: tuple[str, ...]

    @property
    def text(self) -> str:
        """What is replaced by kind, with the values, and what stays."""
        kinds = dict.fromkeys(one.kind for one in self.replaced)
        lines = []
        for kind in kinds:
            of = [one for one in self.replaced if one.kind == kind]
            places = count_text(sum(one.count for one in of), "place")
            lines.append(f"{kind}: {count_text(len(of), 'value')} in {places}")
            lines += [f"  {one.value} -> {one.new or 'left out'} ({one.count})" for one in of[:SAMPLES]]
            lines += [f"  and {len(of) - SAMPLES} more"] * (len(of) > SAMPLES)
        ordinary = f"Replaced in names, paths and addresses only (ordinary words): {', '.join(self.ordinary)}."
        return "\n".join([*lines, *([ordinary] if self.ordinary else []), f"Stays: {', '.join(self.kept)}."])


SAMPLES = 5
"""Values of a kind that a preview lists."""

KEPT = (
    "figures, samples and times", "models and versions", "instance type and region", "kernel and distribution",
    "standard paths and device names", "commands and raw output without the values above",
)  # fmt: skip


class Redaction:
    """Collects what identifies hosts and people and replaces it. Add everything before the first replacement."""

    def __init__(self) -> None:
        self._strong = dict[str, str]()
        self._weak = dict[str, str]()
        self._kinds = dict[str, str]()
        self._numbers = dict[str, int]()

    @cached_property
    def replacement(self) -> Replacement:
        """The replacement of all that was added."""
        return Replacement(self._strong, self._weak)

    def preview(self) -> RedactionPreview:
        """Return what was replaced so far, most places first in each kind."""
        counts = self.replacement.counts
        values = {**self._weak, **self._strong}
        found = [Redacted(self._kinds[value], value, new, counts[value]) for value, new in values.items()]
        found = [one for one in found if one.count]
        order = {kind: number for number, kind in enumerate(dict.fromkeys(self._kinds.values()))}
        found.sort(key=lambda one: (order[one.kind], -one.count, one.value))
        ordinary = tuple(sorted(value for value in self._weak if counts[value]))
        return RedactionPreview(tuple(found), ordinary, KEPT)

    def add_record(self, record: RunRecord, annotation: Annotation, hosts: Sequence[HostEntry]) -> None:
        """Add what a run, the user's own note on it, and the saved hosts of its names have."""
        for host in record.plan.hosts:
            self.add_host(host, record.facts_before.get(host) or record.facts_after.get(host))
        entries = {entry.name: entry for entry in hosts}
        for name in {*record.plan.hosts, *(step.peer for step in record.plan.steps if step.peer)}:
            if name in entries:
                self._add_entry(entries[name])
        for facts in (*record.facts_before.values(), *record.facts_after.values()):
            self.add_facts(facts)
        self._add_plan(record.plan)
        self._text(annotation.name, "name")
        self._text(annotation.note, "note", "")
        for tag in annotation.tags:
            self._text(tag, "tag")
        for text in _texts_of(record):
            self.add_text(text)

    def add_this_computer(self) -> None:
        """Add the name, the user and the home directory of this computer."""
        self.add_host(socket.gethostname(), None)
        with suppress(OSError, KeyError):
            self._value(getpass.getuser(), "user")
        self._path(str(Path.home()))

    def add_host(self, name: str, facts: Facts | None) -> None:
        """Add a host by the name under which it was reached and, with the same new name, by its own."""
        if name in {LOCAL, ELSEWHERE}:
            new = None
        else:
            new = self._strong.get(name) or self._weak.get(name) or self._next("host")
            user, _, rest = name.rpartition("@")
            host = rest.rpartition(":")[0] if re.search(r"[^:]:\d+$", rest) else rest
            self._value(name, "host", new)
            self._value(user, "user")
            self._names_of_host(host.strip("[]"), new)
        own = facts.system.host_name if facts is not None else ""
        if isinstance(own, str) and own:
            self._names_of_host(own, new or self._next("host"))

    def add_facts(self, facts: Facts) -> None:
        """Add every fact that identifies."""
        for path, value in text_facts(facts):
            how = IDENTIFYING_FACTS.get(path)
            if how is not None and path not in {"host", "system.host_name"}:
                self._fact(value, how)

    def add_output(self, text: str) -> None:
        """Add what raw output has: addresses, accounts, the host name that uname prints, home directories."""
        self._addresses(text)
        self._accounts(text)
        for name in _UNAME.findall(text):
            self._value(name, "host")
        for user in _HOME.findall(text):
            self._value(user, "user")

    def add_text(self, text: str) -> None:
        """Add what a command, a note or a finding has: paths, addresses, accounts, URLs, values of secret options."""
        if not text:
            return
        self._places(text)
        self._accounts(text)
        for user, password, host in _URL.findall(text):
            self._value(user, "user")
            self._value(password, "secret")
            if not is_ordinary(host):
                self._value(host, "host")
        for _, value in _SECRET.findall(text):
            plain = is_ordinary(value) and (value.isdecimal() or not re.search(r"\d", value))
            if not plain and not value.startswith(("/", "-")):
                self._value(value, "word")

    def add_command(self, words: Iterable[str]) -> None:
        """Add a command that this program did not build: every word that is not ordinary, the options stay."""
        for word in words:
            self._words(word)

    def add_labels(self, values: Iterable[str]) -> None:
        """Add labels of samples that no tool or kernel has given: names of volumes and interfaces."""
        for value in values:
            if not is_ordinary(value) and not _KERNEL_NAME.fullmatch(value) and not re.search(r"\d", value):
                self._value(value, "name")
            self._places(value)

    def _add_plan(self, plan: Plan) -> None:
        self._text(plan.name, "plan")
        self._text(plan.question, "question", "")
        for each in plan.acknowledged:
            self._text(each.reason, "reason")
        for step in plan.steps:
            self._text(step.name, "step")
            if step.peer and step.peer != LOCAL:
                self.add_host(step.peer, None)
            for value in (*step.values.values(), *(one for own in step.by_host.values() for one in own.values())):
                if isinstance(value, str):
                    self.add_text(value)
            for own in step.by_host.values():
                for host in own:
                    self.add_host(host, None)

    def _add_entry(self, entry: HostEntry) -> None:
        new = self._strong.get(entry.name) or self._weak.get(entry.name)
        if entry.host_name:
            if _is_address(entry.host_name):
                self._value(entry.host_name, "address")
            else:
                self._names_of_host(entry.host_name, new or self._next("host"))
        self._value(entry.user or "", "user")
        self._path(entry.identity_file or "")
        for jump in filter(None, (entry.jump or "").split(",")):
            self.add_host(jump.strip(), None)

    def _names_of_host(self, name: str, new: str) -> None:
        """Add a host name with its first label and its domain; an address as one."""
        if _is_address(name):
            self._value(name, "address")
            return
        self._value(name, "host", new)
        first, _, domain = name.partition(".")
        if domain:
            self._value(first, "host", new)
            self._value(domain, "domain")
            for label in domain.split(".")[:-1]:
                if not is_ordinary(label):
                    self._value(label, "domain")

    def _fact(self, value: str, how: str) -> None:
        match how:
            case "path":
                self._path(value)
            case "place":
                if value.startswith("/"):
                    self._path(value)
                else:
                    self._words(value)
            case "places":
                self._places(value)
            case "words":
                self._words(value)
            case "volume" | "interface":
                if not _KERNEL_NAME.fullmatch(value):
                    self._value(value, how)
            case "process":
                if not is_ordinary(value):
                    self._value(value, how)
            case _:
                self._value(value, how)

    def _text(self, text: str, kind: str, new: str | None = None) -> None:
        """Add a text of the user as a whole, unless all of its words are ordinary."""
        if text and not is_ordinary(text):
            self._value(text, kind, new)
        self.add_text(text)

    def _words(self, text: str) -> None:
        """Add the places of a text, and its words that are not ordinary."""
        self._places(text)
        for word in re.split(r"[\s:,;=]+", text):
            if word and not word.startswith(("/", "-")) and not is_ordinary(word) and not _KERNEL_NAME.fullmatch(word):
                self._value(word, "name")

    def _places(self, text: str) -> None:
        self._addresses(text)
        for path in _PATH.findall(text):
            self._path(path)

    def _addresses(self, text: str) -> None:
        for found in _ADDRESS.findall(text):
            if _is_address(found):
                self._value(found, "address")
        for mac in _MAC.findall(text):
            self._value(mac, "MAC")
        for found in (*_UUID.findall(text), *_CLOUD_ID.findall(text)):
            self._value(found, "id")

    def _accounts(self, text: str) -> None:
        for user, host in _ACCOUNT.findall(text):
            self._value(user, "user")
            self._value(host, "host")

    def _path(self, path: str) -> None:
        """Add the components of a path that are not standard ones."""
        if path.startswith(("/sys/", "/proc/")):  # the kernel's own names
            return
        for part in path.removeprefix("~").split("/"):
            if part and not _KERNEL_NAME.fullmatch(part) and not (is_ordinary(part) and not re.search(r"\d{4}", part)):
                self._value(part, "path")

    def _value(self, value: str, kind: str, new: str | None = None) -> None:
        """Add a value, unless it has its new name already or is in _PUBLIC_NAMES."""
        value = value.strip()
        if not value or value in _PUBLIC_NAMES or value in self._strong or value in self._weak or value in {".", ".."}:
            return
        if _is_address(value) and _is_local(value):
            return
        weak = len(value) < SHORTEST or (value.isdecimal() and len(value) < 8)
        weak = weak or (bool(words_of(value)) and is_ordinary(value) and value.isalpha())
        new = self._next(kind) if new is None else new
        (self._weak if weak else self._strong)[value] = new
        self._kinds[value] = kind

    def _next(self, kind: str) -> str:
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        return f"{kind}-{_letters(number)}"


def _texts_of(record: RunRecord) -> Iterator[str]:
    """Yield the words of the commands, the notes of the trials, and the texts of the findings."""
    for trial in record.trials:
        yield from (word for command in trial.trial.commands for word in command.argv)
        yield from (*trial.notes, trial.reason)
    for finding in (*record.findings, *(one for verdict in record.verdicts for one in verdict.findings)):
        yield from (finding.measured, finding.why, finding.remedy, finding.install or "")
    yield record.reason


_PUBLIC_NAMES = frozenset({LOCAL, ELSEWHERE, "localhost", "localhost.localdomain", "root", "nobody", "-", "none"})


def _letters(number: int) -> str:
    """Return the name of a column of a spreadsheet: A to Z, AA."""
    found = ""
    while number:
        number, rest = divmod(number - 1, 26)
        found = chr(ord("A") + rest) + found
    return found


def _is_address(text: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(text.partition("%")[0])
        return True
    return False


def _is_local(text: str) -> bool:
    found = ipaddress.ip_address(text.partition("%")[0])
    return found.is_loopback or found.is_unspecified


def text_facts(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield every fact in text with its path in Facts; an absent one with its reason, as ``guard``."""
    yield from _texts(facts, "")


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Absent):
        yield "directories.guard", value.reason
    elif isinstance(value, str):
        yield path, value
    elif isinstance(value, tuple):
        for each in value:
            yield from _texts(each, path)
    elif is_dataclass(value):
        for each in fields(value):
            yield from _texts(getattr(value, each.name), f"{path}.{each.name}" if path else each.name)
