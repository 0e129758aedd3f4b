"""Words that identify no host or person: those of this program's help and texts, of POSIX and of standard paths."""

import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from inspect import CO_OPTIMIZED
from types import CodeType

_WORD = re.compile(r"[^\W\d_]+")
_EXAMPLES = re.compile(r"\S*[@/]\S*|\S*\d\S*")
"""Addresses, paths and names with digits, which the help pages have as examples."""

_PATHS = (
    "bin boot cache data dev disk etc home lib lib64 local localhost log lost found mapper media mnt nfs nvme opt proc "
    "root run sbin shm snap srv swap sys tmp usr var work efi pgdata pgsql postgresql mysql "
)
STANDARD_NAMES = frozenset({
    *_PATHS.split(), "by-id", "by-uuid", "by-path", "by-label", "by-partuuid", "null", "zero", "full", "random",
    "urandom", "stdin", "stdout", "stderr", "fd", "tty",
})  # fmt: skip
"""Components of standard paths, which stay."""

_STANDARD = _PATHS + (
    "by id uuid path label partuuid www backup storage volume volumes scratch nobody overlay tmpfs udev none https lua "
    "reno dctcp vegas westwood htcp illinois zipf pareto"
)
_UTILITIES = (
    "alias awk basename bash batch bg bunzip bzip cal cat chgrp chmod chown cksum cmp comm command compress cp cron "
    "crontab csplit curl cut dash date dd df diff dirname du echo ed egrep env eval exec exit expand export expr "
    "false fg fgrep file find fold fuser getconf getopt getopts grep gunzip gzip hash head iconv id ionice join kill "
    "ksh link ln locale localedef logger logname ls make man md mkdir mkfifo mknod mktemp mount mv nice nl nohup "
    "nproc numactl od parallel paste patch pathchk perl pgrep pipefail pkill pr printf ps pwd python read readlink "
    "realpath renice rm rmdir sed seq set setsid sh sha shift shuf sleep sort split stat stdbuf strings stty sudo sum "
    "sync tac tail tar taskset tee test time timeout touch tput tr trap true tsort tty type ulimit umask umount "
    "unalias uname uncompress unexpand uniq unlink unset unzip uptime vi wait watch wc wget which who xargs xz yes "
    "zcat zip zsh zstd"
)
"""Commands of POSIX and of every Linux, with the builtins of its shells."""

UTILITIES = frozenset(_UTILITIES.split())

_PROSE = re.compile(r"\S\s+\S")

SHORTEST = 3
"""Characters from which a word is looked for in running text: the article “a” is no host."""


def words_of(text: str) -> list[str]:
    """Return the words of `text` in lower case, without digits."""
    return [word.casefold() for word in _WORD.findall(text)]


@cache
def ordinary_words() -> frozenset[str]:
    """Return all ordinary words in lower case."""
    from app.plans.presets import presets
    from suites.registry import SUITES

    texts = [_STANDARD, _UTILITIES, *own_texts()]
    pages = files("resources") / "help"
    texts += [_EXAMPLES.sub(" ", page.read_text("utf-8")) for page in pages.iterdir() if page.name.endswith(".md")]
    for suite in SUITES:
        texts += [suite.id, suite.title, suite.tool, *(name for one in suite.other_programs for name in one.names)]
        for parameter in suite.parameters:
            texts += [parameter.name, parameter.title, parameter.help, parameter.option]
            texts += [str(choice.value) for choice in parameter.choices]
    texts += [f"{preset.keywords} {preset.title} {preset.answers}" for preset in presets()]
    return frozenset(word for text in texts for word in words_of(text))


_OWN = ("suites", "remote", "app.checks", "app.verdict", "app.outputs", "app.plans", "app.runs", "app.crosscheck")
"""Packages whose texts are in results, findings, notes and commands."""


def own_texts() -> Iterator[str]:
    """Yield the texts of several words in the code of this program, scripts among them, without its docstrings."""
    from importlib import import_module
    from importlib.abc import InspectLoader

    for package in _OWN:
        path = import_module(package).__path__
        for found in pkgutil.walk_packages(path, f"{package}."):
            spec = found.module_finder.find_spec(found.name, None)
            loader = None if spec is None else spec.loader
            code = loader.get_code(found.name) if isinstance(loader, InspectLoader) else None
            if code is not None:
                yield from _texts_in(code)


def _texts_in(code: CodeType) -> Iterator[str]:
    """Yield the texts of several words among the constants of a code object, without its docstring."""
    is_function = bool(code.co_flags & CO_OPTIMIZED)
    documented = not is_function and "__doc__" in code.co_names
    for number, value in enumerate(code.co_consts):
        if isinstance(value, CodeType):
            yield from _texts_in(value)
        for text in (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ():
            if not isinstance(text, str) or not _PROSE.search(text):
                continue
            if documented or (is_function and number == 0 and not code.co_name.startswith("<")):
                documented = False
                continue
            yield text


def is_ordinary(text: str) -> bool:
    """Return whether every word of `text` is ordinary, or too short to identify a host or a person."""
    return all(len(word) < SHORTEST or word in ordinary_words() for word in words_of(text))


@cache
def _texts_of_presets() -> frozenset[str]:
    from app.plans.presets import QUICK_QUESTION, presets

    texts = (str(one.content.get(key, "")) for one in presets() for key in ("name", "question"))
    return frozenset((QUICK_QUESTION, *texts))


def is_own_text(text: str) -> bool:
    """Return whether the user wrote `text`: it is neither empty nor that of a preset."""
    return bool(text.strip()) and text not in _texts_of_presets()
