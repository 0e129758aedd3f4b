"""Targets of programs whose arguments are parsed individually: fio, dd, find, cp and similar."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from posixpath import basename, dirname, join

from suites.command.program_rules import REMOTE, copies_links, known_program, operands_of
from suites.command.shell_expansion import ANY, HOST, HOST_END, UNKNOWN, is_whole
from suites.fio_job.command_line import LineTargets, fio_targets
from suites.targets import Target, unsure

_RUNNING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_NO_DEVICE = frozenset({"tmpfs", "ramfs", "devtmpfs", "devpts", "proc", "sysfs", "overlay", "cgroup", "cgroup2", "nfs",
                        "nfs4", "cifs", "9p", "virtiofs", "hugetlbfs", "debugfs", "tracefs", "securityfs"})  # fmt: skip
"""File system types that are on no block device of this host."""
_PRINTING = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})


def dd_targets(arguments: Sequence[str], line: LineTargets) -> Iterator[Target]:
    """Yield the write targets of dd, including words whose beginning only a shell can expand."""
    for word in arguments:
        if word.startswith("of="):
            yield from line.written(word[3:], "dd")
        elif not re.match(r"[a-z]+=", word):
            yield from line.written(word, "dd")


def mknod_targets(arguments: Sequence[str], line: LineTargets) -> Iterator[Target]:
    """Yield a refusal if mknod creates a device."""
    del line
    if "p" not in arguments:
        yield unsure("mknod creates a device, whose use cannot be checked.")


def copy_targets(name: str, arguments: Sequence[str], line: LineTargets) -> Iterator[Target]:
    """Yield what cp, mv, install, rsync or scp writes, and what it would copy as a link or a device."""
    operands, named = operands_of(known_program(name), arguments)
    sources, to = (operands, named) if named else (operands[:-1], operands[-1:])
    deep = copies_links(name, arguments)
    if name in {"rsync", "scp"} or deep:
        yield from line.named(operands)
    elif name == "mv":
        yield from line.named(sources)
    if name in {"rsync", "scp"}:
        to = [_remote_path(target) for target in to]
        yield from (target for each in _started(arguments) for target in line.line(each))
    for target in to:
        yield from line.written(target, name)
        for source in sources:
            last = basename(source.rstrip("/")) if UNKNOWN not in source else ANY
            if last and UNKNOWN not in target:
                yield from line.written(join(target, last), name)
                if any(_WHOLE_PATHS.fullmatch(word) for word in arguments):
                    yield from line.written(join(target, source.lstrip("/")), name)
                yield from line.below(join(target, last)) if deep else ()


def _remote_path(word: str) -> str:
    """Return the path in an scp or rsync destination: a host name may be this host.

    The remote shell may expand the path again, so anything it would expand is unknown.
    """
    host = REMOTE.match(word)
    if host is None:
        return word
    path = word[host.end() :]
    if host[0].endswith("://"):
        path = f"/{path.partition('/')[2]}"
    path = re.sub(r"[*?\[\]{}$`\\'\";|&<>()]+|^~[^/]+", UNKNOWN, path)
    return path if path.startswith(("/", HOST)) else f"{HOST}HOME{HOST_END}/{path.removeprefix('~').lstrip('/')}"


_STARTED = re.compile(r"(?:-e|-S|--rsh=?|--rsync-path=?|-o\s*ProxyCommand[ =])(.*)", re.DOTALL)


def _started(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the lines that options of scp and rsync run in a shell, local or remote."""
    for word, after in pairwise([*arguments, ""]):
        if match := _STARTED.fullmatch(word):
            yield match[1] or after
        elif word == "-o":
            yield after.partition("=")[2]


_WHOLE_PATHS = re.compile(r"--parents|--relative|-[A-Za-z]*R[A-Za-z]*")
"""Options with which cp and rsync create the source's directories below the target."""


def ln_targets(arguments: Sequence[str], line: LineTargets) -> Iterator[Target]:
    """Yield the link targets of ln, and what it replaces."""
    operands, named = operands_of(known_program("ln"), arguments)
    sources, to = (operands, named) if named or len(operands) < 2 else (operands[:-1], operands[-1:])
    yield from line.named(operands)
    for at in to:
        if UNKNOWN in at:
            yield from line.written(at, "ln")
        for source in sources:
            if not is_whole(source):
                yield from line.named([join(dirname(at), source), join(at, source)])


def find_targets(arguments: Sequence[str], line: LineTargets) -> Iterator[Target]:
    """Yield what find may change, and what the programs that it starts may change."""
    roots: list[str] = []
    for word in arguments:
        if word.startswith(("-", "(", "!")) and not re.fullmatch(r"-[HLP]|-O\d|-D", word):
            break
        roots += [] if word.startswith("-") else [word]
    acts = "-delete" in arguments
    for at, word in enumerate(arguments):
        if word in _PRINTING:
            yield from line.written("".join(arguments[at + 1 : at + 2]), "find")
        elif word in _RUNNING:
            ends = next((n for n in range(at, len(arguments)) if arguments[n] in {";", "+"}), len(arguments))
            before, line.stdin = line.stdin, ""
            yield from line.run([each.replace("{}", UNKNOWN) for each in arguments[at + 1 : ends]])
            acts, line.stdin = acts or bool(line.stdin), before
    for root in (roots or ["."]) if acts else ():
        if "-L" in arguments or "-follow" in arguments:
            yield unsure("find follows links anywhere and passes the result to a program; remove -L.")
        elif UNKNOWN in root:
            yield unsure("The start of find is expanded by a shell; write it out.")
        else:
            yield from line.named([root])
            yield from line.below(root)


def mounts_no_device(arguments: Sequence[str]) -> bool:
    """Whether mount is given no block device, as far as its arguments show."""
    types = [after for word, after in pairwise([*arguments, ""]) if word in {"-t", "--types"}]
    types += [match[1] for word in arguments if (match := re.fullmatch(r"(?:-t|--types=)(.+)", word))]
    bound = any(re.fullmatch(r"--r?bind|--move|-[BRM]", word) for word in arguments)
    return bound or not arguments or (bool(types) and _NO_DEVICE.issuperset(types))


def mount_targets(arguments: Sequence[str], line: LineTargets) -> Iterator[Target]:
    """Yield the operands of mount; mounts that expose devices of other directories cannot be followed."""
    yield from line.named(arguments)
    for word in arguments:
        if UNKNOWN in word or re.fullmatch(r"(?:-t|--types=)?(?:devtmpfs|udev|overlay|aufs|fuse\S*)", word):
            yield unsure("mount makes devices appear in another directory, where they cannot be checked.")


def sed_targets(arguments: Sequence[str], line: LineTargets) -> Iterator[Target]:
    """Yield the operands of sed, and the files its script writes: the command w needs no blank before its file."""
    yield from line.named(arguments)
    yield from line.named([path for word in arguments for path in re.findall(r"[wW]\s*([^\s;}]+)", word)])


SPECIAL: Mapping[str, Callable[[Sequence[str], LineTargets], Iterator[Target]]] = {
    "dd": dd_targets,
    "fio": fio_targets,
    "find": find_targets,
    "ln": ln_targets,
    "mknod": mknod_targets,
    "mount": mount_targets,
    "sed": sed_targets,
}
"""Programs with individual argument parsers."""
