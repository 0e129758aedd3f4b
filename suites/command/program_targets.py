"""What programs open whose words are read one by one: fio, dd, find, cp and their like."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from posixpath import basename, dirname, join
from types import MappingProxyType

from suites.command.fio_targets import Line, fio_targets
from suites.command.programs import copies_links, known_program, operands_of
from suites.command.word_values import ANY, UNKNOWN, is_whole
from suites.targets import Target, unsure

_RUNNING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_NO_DEVICE = frozenset({"tmpfs", "ramfs", "devtmpfs", "devpts", "proc", "sysfs", "overlay", "cgroup", "cgroup2", "nfs",
                        "nfs4", "cifs", "9p", "virtiofs", "hugetlbfs", "debugfs", "tracefs", "securityfs"})  # fmt: skip
"""Types of file systems that are on no block device of this host."""
_PRINTING = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})


def dd_targets(arguments: Sequence[str], line: Line) -> Iterator[Target]:
    """Yield what dd writes; a word of which only a shell can tell the beginning may name it."""
    for word in arguments:
        if word.startswith("of="):
            yield from line.written(word[3:], "dd")
        elif not re.match(r"[a-z]+=", word):
            yield from line.written(word, "dd")


def mknod_targets(arguments: Sequence[str], line: Line) -> Iterator[Target]:
    """Yield a refusal where mknod makes a device."""
    del line
    if "p" not in arguments:
        yield unsure("mknod makes a device, and what is done with that cannot be judged.")


def copy_targets(name: str, arguments: Sequence[str], line: Line) -> Iterator[Target]:
    """Yield what cp, mv, install, rsync or scp writes, and what it would take along as a link or a device."""
    operands, named = operands_of(known_program(name), arguments)
    sources, to = (operands, named) if named else (operands[:-1], operands[-1:])
    deep = copies_links(name, arguments)
    if name in {"rsync", "scp"} or deep:
        yield from line.named(operands)
    elif name == "mv":
        yield from line.named(sources)
    for target in to:
        if name in {"rsync", "scp"} and re.match(r"[^/]*:", target):
            continue  # another host
        yield from line.written(target, name)
        for source in sources:
            last = basename(source.rstrip("/")) if UNKNOWN not in source else ANY
            if last and UNKNOWN not in target:
                yield from line.written(join(target, last), name)
                if any(_WHOLE_PATHS.fullmatch(word) for word in arguments):
                    yield from line.written(join(target, source.lstrip("/")), name)
                yield from line.below(join(target, last)) if deep else ()


_WHOLE_PATHS = re.compile(r"--parents|--relative|-[A-Za-z]*R[A-Za-z]*")
"""Options with which cp and rsync make the directories of a source below the target."""


def ln_targets(arguments: Sequence[str], line: Line) -> Iterator[Target]:
    """Yield what ln links to, and what it replaces."""
    operands, named = operands_of(known_program("ln"), arguments)
    sources, to = (operands, named) if named or len(operands) < 2 else (operands[:-1], operands[-1:])
    yield from line.named(operands)
    for at in to:
        if UNKNOWN in at:
            yield from line.written(at, "ln")
        for source in sources:
            if not is_whole(source):
                yield from line.named([join(dirname(at), source), join(at, source)])


def find_targets(arguments: Sequence[str], line: Line) -> Iterator[Target]:
    """Yield what find may change, and what the programs that it starts may."""
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
            before, line.fed = line.fed, ""
            yield from line.run([each.replace("{}", UNKNOWN) for each in arguments[at + 1 : ends]])
            acts, line.fed = acts or bool(line.fed), before
    for root in (roots or ["."]) if acts else ():
        if "-L" in arguments or "-follow" in arguments:
            yield unsure("find follows links to whatever they lead, and gives it to a program; leave -L out.")
        elif UNKNOWN in root:
            yield unsure("find starts where only a shell can tell; write it out.")
        else:
            yield from line.named([root])
            yield from line.below(root)


def mounts_no_device(arguments: Sequence[str]) -> bool:
    """Whether mount is given no block device, as far as its words say."""
    types = [after for word, after in pairwise([*arguments, ""]) if word in {"-t", "--types"}]
    types += [match[1] for word in arguments if (match := re.fullmatch(r"(?:-t|--types=)(.+)", word))]
    bound = any(re.fullmatch(r"--r?bind|--move|-[BRM]", word) for word in arguments)
    return bound or not arguments or (bool(types) and _NO_DEVICE.issuperset(types))


def mount_targets(arguments: Sequence[str], line: Line) -> Iterator[Target]:
    """Yield what mount is given; what holds devices of other directories cannot be followed."""
    yield from line.named(arguments)
    for word in arguments:
        if UNKNOWN in word or re.fullmatch(r"(?:-t|--types=)?(?:devtmpfs|udev|overlay|aufs|fuse\S*)", word):
            yield unsure("mount makes devices appear in another directory, where they cannot be judged.")


def sed_targets(arguments: Sequence[str], line: Line) -> Iterator[Target]:
    """Yield what sed is given, and what its script writes to: the command w needs no blank before its file."""
    yield from line.named(arguments)
    yield from line.named([path for word in arguments for path in re.findall(r"[wW]\s*([^\s;}]+)", word)])


SPECIAL: Mapping[str, Callable[[Sequence[str], Line], Iterator[Target]]] = MappingProxyType(
    {
        "dd": dd_targets,
        "fio": fio_targets,
        "find": find_targets,
        "ln": ln_targets,
        "mknod": mknod_targets,
        "mount": mount_targets,
        "sed": sed_targets,
    }
)
"""Programs with a way of their own to name files."""
