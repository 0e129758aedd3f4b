"""Words that identify no host or person: those of the help pages, the suites, the presets and the standard paths."""

import re
from functools import cache
from importlib.resources import files

_WORD = re.compile(r"[^\W\d_]+")
_EXAMPLES = re.compile(r"\S*[@/]\S*|\S*\d\S*")
"""Addresses, paths and names with digits, which the help pages have as examples."""

_STANDARD = (
    "bin boot cache data dev disk etc home lib lib64 local localhost log lost found mapper media mnt nfs nvme opt proc "
    "root run sbin shm snap srv swap sys tmp usr var work efi by id uuid path label partuuid www pgdata pgsql "
    "postgresql mysql backup storage volume volumes scratch nobody overlay tmpfs udev none https lua "
    "reno dctcp vegas westwood htcp illinois zipf pareto"
)
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

    texts = [_STANDARD]
    pages = files("resources") / "help"
    texts += [_EXAMPLES.sub(" ", page.read_text("utf-8")) for page in pages.iterdir() if page.name.endswith(".md")]
    for suite in SUITES:
        texts += [suite.id, suite.title, suite.tool, *(name for one in suite.other_programs for name in one.names)]
        for parameter in suite.parameters:
            texts += [parameter.name, parameter.title, parameter.help, parameter.option]
            texts += [str(choice.value) for choice in parameter.choices]
    texts += [f"{preset.keywords} {preset.title} {preset.answers}" for preset in presets()]
    return frozenset(word for text in texts for word in words_of(text))


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
