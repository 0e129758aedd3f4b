"""Redaction: names, addresses, serial numbers, ids and paths are replaced by value, in the same way everywhere."""

import getpass
import ipaddress
import json
import re
import socket
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from app.hosts.hosts import HostEntry
from app.library_rows import Annotation
from app.outputs.tool_lines import prompts_of
from app.plans.plan import ELSEWHERE, LOCAL, Plan, Step
from app.plans.plan_names import has_automatic_name
from app.records import RunRecord
from app.sharing.identifying_facts import IDENTIFYING_FACTS, text_facts
from app.sharing.named_hosts import hosts_in, names_in
from app.sharing.ordinary_words import SHORTEST, STANDARD_NAMES, is_ordinary, is_own_text, words_of
from app.sharing.preview import Redacted
from app.sharing.replacement import SYSTEM_PATHS, Replacement
from suites.command.program_rules import name_of, starts
from suites.errors import UnknownSuiteError
from suites.facts import Facts
from suites.parameters import Type
from suites.secret_names import secrets_in

_KERNEL_NAME = re.compile(
    r"(?:[shv]d[a-z]+\d*|xvd[a-z]+\d*|nvme\d+(?:n\d+(?:p\d+)?)?|mmcblk\d+(?:p\d+)?|(?:dm-|md|loop|sr|zram|ram|nbd)\d+"
    r"|lo|eth\d+|en[opsdP]\w{1,12}|wl\w{1,8}|bond\d+|virbr\d+|docker\d+|veth\w*)"
)
"""Names that the kernel or udev gives to devices; one made of a MAC address (enx…) is not among them."""

_ADDRESS = re.compile(
    r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)"  # also before a port, and after ::ffff:
    r"|(?<![\w.:])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:]|\.\d)"
)
_MAC = re.compile(
    r"(?<![\w:-])(?:[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5,19}|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2})(?![\w:-])"
)
_UUID = re.compile(r"(?<!\w)[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?!\w)")
_SHORT_UUID = re.compile(r"(?i)uuid[=/]([0-9a-f-]{6,})(?!\w)")
"""Of a FAT file system, or of a partition of an MBR."""
_CLOUD_ID = re.compile(
    r"(?<!\w)(?:(?:i|vol|eni|snap|ami|subnet|vpc)-?[0-9a-f]{8,17}|ocid1\.[\w.-]+\w)(?!\w)"
    r"|(?<=arn:)aws[\w-]*:[\w-]*:[\w-]*:\d{12}(?!\d)"
)
_CLOUD_NAME = re.compile(r"(?i)(?<!\w)(?:projects|resourceGroups|subscriptions|virtualMachines)/([\w.-]*\w)")
_PATH = re.compile(r"(?<![\w/.-])(?!(?<=<)/\w+>)(?:~[\w.-]*)?/[^\s\"'=:,;()<>|\\]+")  # no closing tag
_ENDS = ".?!"
"""Ends of sentences, which are no part of a path or a word before them."""

_ACCOUNT = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]*)@([\w.-]*\w)")
_URL = re.compile(r"://(?:([^\s/@:]*)(?::([^\s/@]+))?@)?(\[[^\]]+\]|[^\s/:?#\"']+)")
_QUERY = re.compile(r"://[^\s\"'?#]+\?([^\s\"'#]+)")
_UNAME = re.compile(r"\bLinux (?:(?!\d+\.\d+)(\S+) \d+\.\d+|\d+\.\S+\s+\(([^\s()]+)\))|\b([\w.-]+): GNU/Linux")
"""The host name as uname, as sar and iostat, and as UnixBench print it."""
_HOST_LINE = re.compile(r"(?i)(?<![^\W_])(?:host[ _-]?name|nodename)[\"']?\s{0,4}[:=]\s{0,4}[\"']?([\w.-]*\w)")
_HOME = re.compile(r"(?:/(?:home|Users)/|\\Users\\{1,2})([^\s/:\\\"']+)")
_NAMED = re.compile(
    r"(?:^|[\s?&,;-])((?:[\w-]*(?:username|user|login|pass|password|secret|token|host|server|key"
    r"|dbname|database|db))[= ]|[\w-]*token[\w-]*=|bearer )"
    r"([^\s&;,\"']+)", re.IGNORECASE,
)  # fmt: skip

_KERNEL_OPTION = re.compile(
    r"(?i)[\w.-]{0,40}(?:host|name|domain|ip|root|lv|vg|resume|luks|crypt|ds|nfs|iscsi|initiator|target|bootif|server|url|user"
    r"|secret|password|workgroup)=([^\s,]+)"
)
"""Options of kernels and mounts whose values name hosts, accounts and volumes."""

_OF_HOST = frozenset({"device", "disk", "interface", "process", "job"})
"""Labels whose values are names that a host or the user gives."""

_HOST_PARAMETERS, _NAME_PARAMETERS = frozenset({"address", "target"}), frozenset({"database", "user"})
"""Parameters of tests with a host, and with a name, in the user's words."""

_JSON_TEXT = re.compile(r'"(\w{1,40})"\s{0,4}:\s{0,4}("(?:[^"\\]|\\.)*")')
_VALUE_OF_LINE = re.compile(r"^(?:[^=\[#;\n]*=|(?=[\[#;]))([^\n]*)", re.MULTILINE)
"""What the user wrote in a line of a job file: the value of an option, a section, a comment."""

_OWN_TEXTS = frozenset({"question", "note", "reason", "text"})
"""Kinds of values that are texts of the user and identify nothing as a whole."""

MOST_ORIGINS = 3
"""Origins of a value that are noted in a preview."""


class Redaction:
    """Collects what identifies hosts and people and replaces it. Add everything before the first replacement."""

    def __init__(self, *, texts: bool = False) -> None:
        """`texts`: keep the user's own titles and notes, without the values in them that identify."""
        self._texts = texts
        self._strong = dict[str, str]()
        self._weak = dict[str, str]()
        self._folders = dict[str, str]()
        self._beside_names = dict[str, str]()
        self._kinds = dict[str, str]()
        self._numbers = dict[str, int]()
        self._where = ""
        self._origins = dict[str, dict[str, None]]()

    @cached_property
    def replacement(self) -> Replacement:
        """The replacement of all that was added."""
        return Replacement(self._strong, self._weak, self._folders, self._beside_names)

    @cached_property
    def inside_texts(self) -> Replacement:
        """The replacement for texts that are kept: a question or note of a run stays where they repeat it."""
        strong, weak = (
            {value: new for value, new in of.items() if self._kinds[value] not in _OWN_TEXTS}
            for of in (self._strong, self._weak)
        )
        return Replacement(strong, weak, self._folders, self._beside_names)

    def replaced(self) -> tuple[Redacted, ...]:
        """Return what was replaced so far, most places first in each kind."""
        counts = self.replacement.counts + self.inside_texts.counts
        values = {**self._folders, **self._beside_names, **self._weak, **self._strong}
        found = [
            Redacted(self._kinds[value], value, new, counts[value], tuple(self._origins[value])[:MOST_ORIGINS])
            for value, new in values.items()
            if counts[value]
        ]
        order = {kind: number for number, kind in enumerate(dict.fromkeys(self._kinds.values()))}
        return tuple(sorted(found, key=lambda one: (order[one.kind], -one.count, one.value)))

    def ordinary(self) -> tuple[str, ...]:
        """Return the values that were replaced as names only, as they are ordinary words too."""
        counts = self.replacement.counts + self.inside_texts.counts
        return tuple(sorted(value for value in self._weak if counts[value]))

    @contextmanager
    def origin(self, where: str) -> Iterator[None]:
        """Note `where` as the origin of the values that are added meanwhile."""
        before, self._where = self._where, where
        try:
            yield
        finally:
            self._where = before

    def add_record(self, record: RunRecord, annotation: Annotation, hosts: Sequence[HostEntry]) -> None:
        """Add what a run, the user's own note on it, and the saved hosts of its names have."""
        with self.origin("host of the plan"):
            for host in record.plan.hosts:
                self.add_host(host, record.facts_before.get(host) or record.facts_after.get(host))
        for host, facts in (*record.facts_before.items(), *record.facts_after.items()):  # also of peers
            with self.origin("fact system.host_name"):
                self.add_host(host, facts)
            self.add_facts(facts)
        entries = {entry.name: entry for entry in hosts}
        for name in {*record.plan.hosts, *(step.peer for step in record.plan.steps if step.peer)}:
            if name in entries:
                with self.origin("saved host"):
                    self._add_entry(entries[name])
        self._add_plan(record.plan)
        with self.origin("name, note and tags of the run"):
            for text in (annotation.name, annotation.note, *annotation.tags):
                self._text(text, "note", "")
        for where, text in _texts_of(record):
            with self.origin(where):
                self.add_text(text)
        built = set() if record.read_from else {step.name for step in record.plan.steps if not _is_own_command(step)}
        own = [one.trial.commands for one in record.trials if one.trial.step not in built]
        with self.origin("command line"):
            self._commands(word for commands in own for command in commands for word in command.argv)
        with self.origin("label"):
            figures = (figure for trial in record.trials for figure in trial.figures)
            self.add_labels(pair for figure in figures for pair in figure.labels)

    def add_this_computer(self) -> None:
        """Add the name, the user and the home directory of this computer."""
        with self.origin("this computer"):
            self.add_host(socket.gethostname(), None)
            with suppress(OSError, KeyError):
                self._value(getpass.getuser(), "user")
            self._path(str(Path.home()))

    def add_host(self, name: str, facts: Facts | None) -> None:
        """Add a host by the name under which it was reached and, with the same new name, by its own."""
        if name in {LOCAL, ELSEWHERE}:
            new = None
        else:
            new = self._known(name) or self._next("host")
            user, _, rest = name.rpartition("@")
            host = rest.rpartition(":")[0] if re.search(r"[^:]:\d+$", rest) else rest
            self._value(name, "host", new)
            self._value(user, "user")
            self._names_of_host(host.strip("[]"), new)
        own = facts.system.host_name if facts is not None else ""
        if isinstance(own, str) and own:
            self._names_of_host(own, new or self._known(own) or self._next("host"))

    def add_facts(self, facts: Facts) -> None:
        """Add every fact that identifies, apart from the names of the host."""
        for path, value in text_facts(facts):
            how = IDENTIFYING_FACTS.get(path)
            if how is not None and path not in {"host", "system.host_name"}:
                with self.origin(f"fact {path}"):
                    self._fact(value, how)

    def add_output(self, text: str, free: frozenset[str]) -> None:
        """Add what raw output has: addresses, accounts, the host name that uname prints, home directories.

        `free` are the keys of JSON whose text the user wrote, such as iperf3's title.
        """
        for key, word in _JSON_TEXT.findall(text) if free else ():
            if key in free:
                with suppress(ValueError):
                    self._whole(json.loads(word), "text", "")
        self._secrets_and_urls(text)
        self._addresses(text)
        self._accounts(text)
        for pair in _UNAME.findall(text):
            self._value("".join(pair), "host")
        for name in _HOST_LINE.findall(text):
            if not is_ordinary(name):
                self._names_of_host(name, self._known(name) or self._next("host"))

    def add_text(self, text: str) -> None:
        """Add what a command, a note or a finding has: paths, addresses, accounts, URLs, values of secret options."""
        if not text:
            return
        self._places(text)
        self._accounts(text)
        for _, found in _NAMED.findall(text):
            value = found.rstrip(_ENDS)
            plain = is_ordinary(value) and (value.isdecimal() or not re.search(r"\d", value))
            if not plain and not value.startswith(("/", "-")):
                self._value(value, "word")

    def _secrets_and_urls(self, text: str) -> None:
        """Add what a text names as secret and the parts of URLs, before they are taken for users and paths."""
        for start, end in secrets_in(text):
            self._secret(text[start:end])
        for start, end in hosts_in(text):
            self._named_host(text[start:end])
        for query in _QUERY.findall(text):
            for value in re.findall(r"=([^&;=/]+)", query):
                if not is_ordinary(value) and not value.isdecimal():
                    self._value(value, "word")
        for user, password, host in _URL.findall(text):
            self._value(user, "user")
            self._value(password, "secret")
            if host.strip("[]") not in _PUBLIC_NAMES:
                self._value(host.strip("[]"), "address" if _is_address(host.strip("[]")) else "host")

    def _secret(self, value: str) -> None:
        """Add a secret: replaced beside its name, and elsewhere unless it is ordinary words or a short number."""
        ordinary = len(value) < SHORTEST or (value.isdecimal() and len(value) < 8)
        ordinary = ordinary or (is_ordinary(value) and not re.search(r"\d", value)) or value.startswith(("/", "~/"))
        if ordinary or value in _PUBLIC_NAMES:
            self._add(self._beside_names, value, "secret", None)
        else:
            self._value(value, "secret")
            self._beside_names.setdefault(value, self._known(value) or "secret")

    def _named_host(self, name: str) -> None:
        """Add a host that a text names as such; one that is an ordinary word is replaced beside its name only."""
        if name in _PUBLIC_NAMES:
            return
        if len(name) < SHORTEST or (is_ordinary(name) and name.isalpha()):
            self._add(self._beside_names, name, "host", None)
        else:
            self._names_of_host(name, self._known(name) or self._next("host"))

    def add_prompts(self, text: str, programs: Collection[str]) -> None:
        """Add the words before a command of `programs` in a terminal's text: names of hosts, users and folders."""
        for prompt, typed in (each for line in text.splitlines() for each in prompts_of(line)):
            words = typed.split()
            if any(name_of(words[at]) in programs for at in starts(words)[0]):
                self._words(re.sub(r"[^\w.@:/-]+", " ", prompt))

    def add_named(self, text: str) -> None:
        """Add what a terminal's text names as a host, a user or a serial number."""
        for kind, name in names_in(text):
            if kind == "host":
                self._names_of_host(name, self._known(name) or self._next("host"))
            elif not is_ordinary(name) or kind == "serial":
                self._value(name, kind)

    def _commands(self, words: Iterable[str]) -> None:
        """Add commands that this program did not build: every word that is not ordinary, the options stay."""
        for word in words:
            self._words(word)

    def add_labels(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Add labels of samples that no tool or kernel has given: names of volumes and interfaces."""
        for key, value in pairs:
            sized = key not in _OF_HOST and re.search(r"\d", value)
            if not is_ordinary(value) and not _KERNEL_NAME.fullmatch(value) and not sized:
                self._value(value, "name")
            self._places(value)

    def _add_plan(self, plan: Plan) -> None:
        with self.origin("plan name"):
            self._text("" if has_automatic_name(plan) else plan.name, "plan")
        with self.origin("question"):
            self._text(plan.question, "question", "")
        with self.origin("acknowledgement"):
            for each in plan.acknowledged:
                self._text(each.reason, "reason")
        with self.origin("baseline"):
            self._text(plan.repetition.baseline, "baseline")
        for step in plan.steps:
            with self.origin(f"step {step.name}"):
                self._add_step(step)

    def _add_step(self, step: Step) -> None:
        if not is_ordinary(step.name):
            self._value(step.name, "step")
        self.add_text(step.name)
        if step.peer and step.peer != LOCAL:
            self.add_host(step.peer, None)
        types = dict[str, Type]()
        with suppress(UnknownSuiteError):
            types = {known.name: known.type for known in step.suite.parameters}
        for name, value in [*step.values.items(), *(pair for one in step.by_host.values() for pair in one.items())]:
            if isinstance(value, str):
                self.add_text(value)
                self._parameter(name, value)
                kind = types.get(name, Type.TEXT)
                if kind is Type.TEXT:
                    self._words(value)
                elif kind is Type.LINES:
                    for text in _VALUE_OF_LINE.findall(value):
                        self._words(text)
        for by_host in step.by_host.values():
            for host in by_host:
                self.add_host(host, None)

    def _parameter(self, name: str, value: str) -> None:
        """Add a text of the user that is a host, a name or a path as a whole."""
        if name in _HOST_PARAMETERS and value:
            self.add_host(value, None)
        elif name in _NAME_PARAMETERS:
            self._value(value, name)
        elif value.startswith(("/", "~")) and "\n" not in value:
            self._path(value)

    def _add_entry(self, entry: HostEntry) -> None:
        new = self._known(entry.name)
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
                self._options(value)
            case "words":
                self._words(value)
            case "volume" | "interface" | "process":
                if not (is_ordinary(value) if how == "process" else _KERNEL_NAME.fullmatch(value)):
                    self._value(value, how)
            case _:
                self._value(value, how)

    def _text(self, text: str, kind: str, new: str | None = None) -> None:
        """Add a text of the user as a whole, unless it is kept, this program's, or one ordinary word."""
        if not self._texts and is_own_text(text):
            self._whole(text, kind, new)
        self.add_text(text)

    def _whole(self, text: str, kind: str, new: str | None = None) -> None:
        """Add a text as a whole, unless it is one ordinary word: that would be replaced in sentences."""
        if not is_ordinary(text) or len(text.split()) > 1:
            self._value(text, kind, new)

    def _words(self, text: str) -> None:
        """Add the places of a text, and its words that are not ordinary."""
        self._places(text)
        for found in re.split(r"[\s:,;=@\[\]\"'<>(){}]+", text):
            word = found.rstrip(_ENDS)
            if "/" in word.strip("/"):
                self._path(word)
            if word and not word.startswith(("/", "-")) and not is_ordinary(word) and not _KERNEL_NAME.fullmatch(word):
                self._value(word, "name")

    def _places(self, text: str) -> None:
        self._secrets_and_urls(text)
        self._addresses(text)
        for path in _PATH.findall(text):
            self._path(path.rstrip(_ENDS))

    def _options(self, text: str) -> None:
        """Add what the options of a kernel or of a mount name, without their own words and numbers."""
        for word in (word for value in _KERNEL_OPTION.findall(text) for word in re.split(r"[:;=]+", value)):
            kept = not re.search(r"[^\W\d_]{2}", word) or _KERNEL_NAME.fullmatch(word)
            if not kept and word.casefold() not in _KERNEL_WORDS and not word.startswith("/"):
                self._words(word)

    def _addresses(self, text: str) -> None:
        for found in _ADDRESS.findall(text):
            address = found if _is_address(found) else found[:-1]  # ping prints a colon after it
            if _is_address(address):
                self._value(address, "address")
        for mac in _MAC.findall(text):
            self._value(mac, "MAC")
        for user in _HOME.findall(text):
            self._value(user, "user")
        for name in _CLOUD_NAME.findall(text):
            if not is_ordinary(name):
                self._value(name, "id")
        for found in (*_UUID.findall(text), *_SHORT_UUID.findall(text), *_CLOUD_ID.findall(text)):
            self._value(found, "id")

    def _accounts(self, text: str) -> None:
        for user, host in _ACCOUNT.findall(text):
            self._value(user, "user")
            self._value(host, "host")

    def _path(self, path: str) -> None:
        """Add the components of a path that are not standard ones: ordinary words as folders, not below /usr, /etc."""
        if path.startswith(("/sys/", "/proc/")):  # the kernel's own names
            return
        own = path.startswith(("/", "~")) and not path.startswith(SYSTEM_PATHS)
        if path.startswith("//"):  # the host of a URL, which has been added
            path = re.split(r"[?#]", path[2:])[0].partition("/")[2]
        for part in path.lstrip("~").split("/"):
            if not part or _KERNEL_NAME.fullmatch(part):
                continue
            if not is_ordinary(part) or re.search(r"\d{4}", part):
                self._value(part, "path")
            elif own and part.casefold() not in STANDARD_NAMES and re.search(r"[^\W\d_]", part):
                self._add(self._folders, part, "path", None)

    def _value(self, value: str, kind: str, new: str | None = None) -> None:
        """Add a value, unless it has its new name already or is in _PUBLIC_NAMES.

        A text of the user that is found to be a name too, such as a tag, becomes one.
        """
        value = value.strip()
        if not value or value in _PUBLIC_NAMES or value in {".", ".."}:
            return
        known = self._kinds.get(value) if value in self._strong or value in self._weak else None
        if known is not None and (known not in _OWN_TEXTS or kind in _OWN_TEXTS):
            self._origins[value][self._where] = None
            return
        if _is_address(value) and _is_local(value):
            return
        weak = len(value) < SHORTEST or (value.isdecimal() and len(value) < 8)
        weak = weak or (bool(words_of(value)) and is_ordinary(value) and value.isalpha())
        if new is None:
            new = self._folders.get(value) or self._beside_names.get(value) or self._next(kind)
        for other in _spellings(value):
            if other not in self._strong:
                self._strong[other] = new
                self._kinds[other] = kind
                self._origins[other] = {self._where: None}
        self._add(self._weak if weak else self._strong, value, kind, new)

    def _add(self, values: dict[str, str], value: str, kind: str, new: str | None) -> None:
        """Add a value to those of one way of replacement, by default with the new name that it has."""
        known = self._known(value) if new is None else None
        values[value] = (known or self._next(kind)) if new is None else new
        if known is None:
            self._kinds[value] = kind
        self._origins.setdefault(value, {})[self._where] = None

    def _known(self, value: str) -> str | None:
        if self._kinds.get(value) in _OWN_TEXTS:
            return None
        found = (of.get(value) for of in (self._strong, self._weak, self._beside_names, self._folders))
        return next(filter(None, found), None)

    def _next(self, kind: str) -> str:
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        return f"{kind}-{_letters(number)}"


def _is_own_command(step: Step) -> bool:
    """Return whether the user wrote the command of a step."""
    try:
        return step.suite.needs_input
    except UnknownSuiteError:
        return True


def _texts_of(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield the words of the commands, the notes of the trials, and the texts of the findings, with their origins."""
    for trial in record.trials:
        yield from (("command line", command.line) for command in trial.trial.commands)
        yield from (("command line", word) for command in trial.trial.commands for word in command.argv)
        yield from (("note of a trial", note) for note in (*trial.notes, trial.reason))
    for finding in (*record.findings, *(one for verdict in record.verdicts for one in verdict.findings)):
        texts = (finding.measured, finding.why, finding.remedy, finding.install or "")
        yield from (("finding", text) for text in texts)
    yield "end of the run", record.reason


_KERNEL_WORDS = frozenset({
    "dhcp", "dhcp6", "off", "on", "any", "none", "auto", "auto6", "both", "uuid", "partuuid", "label", "partlabel",
    "nocloud", "nocloud-net", "configdrive", "ec2", "luks", "zfs", "ntlmssp", "krb5", "http", "https", "ntlm",
})  # fmt: skip
"""Values of options of kernels and mounts that identify nothing."""


def _spellings(value: str) -> Iterator[str]:
    """Yield the other spellings of an address or a MAC address, also within names such as ip-10-0-0-5."""
    digits = re.sub(r"[:.-]", "", value)
    if _MAC.fullmatch(value):
        pairs = [digits[at : at + 2] for at in range(0, len(digits), 2)]
        yield from (mark.join(pairs) for mark in (":", "-", ""))
        if len(pairs) == 6:
            yield ".".join(digits[at : at + 4] for at in range(0, 12, 4))
            first = f"{int(pairs[0], 16) ^ 2:x}{pairs[1]}"
            yield f"{first}:{pairs[2]}ff:fe{pairs[3]}:{pairs[4]}{pairs[5]}"  # of addresses made of it
    elif _is_address(value):
        found = ipaddress.ip_address(value.partition("%")[0])
        yield from (found.compressed, found.exploded, found.reverse_pointer.removesuffix(".in-addr.arpa"))
        if found.version == 4:
            yield from (found.compressed.replace(".", mark) for mark in "-_")
        else:
            yield from (re.sub(r"(?<=:)0+(?=[^:])|^0+(?=[^:])", "", found.exploded), found.compressed.replace(":", "-"))


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
