"""Lines that only a known tool prints, and command lines of such tools."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from app.outputs.found import formats
from suites import registry
from suites.command.program_rules import name_of, starts
from suites.command_line import lines_of as shell_commands
from suites.command_line import without_prompts

LONGEST_PREFIX = 200
"""Characters of a line in which the text of a tool is sought."""

_LONGEST_COMMAND = 8192
"""Characters of a command line that is read."""

_KNOWN, _LONGEST_KNOWN = 2**16, 400
"""Lines whose meaning is remembered, and their characters at most: the readings of a text have most lines in common."""

_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*(?:[= ].*)?|\w{1,20}=\S+|\S+\.fio|run|prepare", re.ASCII)
"""A word that follows a tool's name on its command line, but not in prose: an option, an operand, a job file."""

_NAMED_VALUE = re.compile(r'[^{]*(?:"\s*:(?:\\t|[\s\[{"\\])*|[}\]],\s*)$')
"""What precedes a value in a line of a document with several lines."""

_OPEN_STRING = re.compile(r'.*"\w[\w .-]{0,60}":\s?"(?:[^"\\]|\\.)*')
"""A line of a document that ends within a string."""

_NAMES = re.compile(r"[\w.-]+")
"""What may be the name of a program."""

_LONGEST_PROMPT = 160

_PROMPT_END = re.compile(r"[$#%>❯➜λ›✗][ \t]+|(?<=^[A-Z]:\\)[^>]{0,80}>[ \t]*")
"""The end of a shell's prompt."""

_ARROW_PROMPT = re.compile(r"[❯➜][ \t]+\S{1,80}[ \t]+(?:\w+:\(\S{1,80}\)[ \t]+)?")
"""A prompt that ends with a folder, and a branch."""

_SHELL_WORDS = {"do", "then", "else", "{", "(", "+", "++"}
"""Words before a command; set -x prints + before each."""

_LOOPS = {"for", "while", "until", "xargs", "repeat"}

_NOT_SOUGHT = -1


@dataclass(slots=True)
class _KnownLine:
    """Whether only a tool has a line, and once sought, its command line and where text of a tool begins in it."""

    is_own: bool
    command: str | None = None
    begins_at: int | None = _NOT_SOUGHT


@lru_cache(_KNOWN)
def _known_line(line: str) -> _KnownLine:
    return _KnownLine(_is_own(line))


def has_own(line: str) -> bool:
    """Return whether only an output of a known tool has `line`."""
    return _known_line(line).is_own if len(line) <= _LONGEST_KNOWN else _is_own(line)


def _is_own(line: str) -> bool:
    return _lines_of_tools().match(line.strip()) is not None


def goes_on(line: str, rest: str) -> bool:
    """Return whether `rest` is the end of `line`, from which a line break separated it: no tool prints it by itself."""
    in_string = '"' in line and _OPEN_STRING.fullmatch(line) is not None
    return in_string or _broken_lines().fullmatch(f"{line.strip()}\n{rest}") is not None


@cache
def _broken_lines() -> re.Pattern[str]:
    """Return the pattern of a line of any format and its end in the next line."""
    return re.compile("|".join(f"(?:{_unnamed(each.broken)})" for each in formats() if each.broken is not None))


def begins_own(line: str) -> bool:
    """Return whether `line` has text of a tool from its beginning, or begins a document."""
    return has_own(line) or line.strip() in {"{", "["}


def own_text(line: str) -> int | None:
    """Return the position in a line at which text of a tool begins; None if it has none."""
    if len(line) > _LONGEST_KNOWN:
        return _own_text(line)
    known = _known_line(line)
    if known.begins_at == _NOT_SOUGHT:
        known.begins_at = _own_text(line)
    return known.begins_at


def _own_text(line: str) -> int | None:
    if begins_own(line):
        return 0
    match = _within_line().search(line, 1, 2 * LONGEST_PREFIX)
    if match is None or match.start() > LONGEST_PREFIX or _NAMED_VALUE.match(line, 0, match.start()):
        return None
    return match.start()


def begun_by(line: str) -> frozenset[str]:
    """Return the tools whose output begins with `line`."""
    stripped = line.strip()
    if not _lines_of_tools(only_first=True).match(stripped):
        return frozenset()
    return frozenset(tool for each, tool in formats().items() if each.begins(stripped))


def tools_with(line: str) -> frozenset[str]:
    """Return the tools whose outputs have `line`."""
    stripped = line.strip()
    return frozenset(tool for each, tool in formats().items() if each.has(stripped))


@cache
def _lines_of_tools(*, only_first: bool = False) -> re.Pattern[str]:
    """Return the pattern of the lines of every format, or of those with which outputs begin."""
    patterns = (pattern for each in formats() for pattern in ((each.first,) if only_first else each.patterns))
    texts = dict.fromkeys(_unnamed(pattern) for pattern in patterns if pattern is not None)
    return re.compile("|".join(f"(?:{text})" for text in texts))


def _unnamed(pattern: re.Pattern[str]) -> str:
    """Return a pattern whose groups have no names, which must differ in one pattern."""
    text = re.sub(r"\(\?P<\w+>", "(?:", pattern.pattern)
    return f"(?i:{text})" if pattern.flags & re.IGNORECASE else text


@cache
def _within_line() -> re.Pattern[str]:
    """Return the pattern of text of a tool, or the beginning of a document, after something else in a line.

    It begins no word and no number that has begun before, and no ornament of equals signs.
    """
    return re.compile(rf"(?<![\w.])(?!(?<==)=)(?:{_lines_of_tools().pattern}|\{{(?:$|\s*\"\w)|\[$)")


def prompts_of(line: str) -> Iterator[tuple[str, str]]:
    """Yield each part of a line that may be a shell's prompt, and the rest, which may be a command line."""
    line = line.strip()
    arrow = _ARROW_PROMPT.match(line)
    for end in (*_PROMPT_END.finditer(line, 0, _LONGEST_PROMPT), *([arrow] if arrow else ())):
        yield line[: end.end()].rstrip(), line[end.end() :]


def command_of(line: str) -> str:
    """Return the command line of a tool in `line`, without its prompt; empty if there is none.

    After a prompt of a usual form, or with options after the name of the tool: after any other prompt, in a loop or
    before a pipe.
    """
    if len(line) > _LONGEST_KNOWN:
        return "" if len(line) > _LONGEST_COMMAND else _command_of(line)
    known = _known_line(line)
    if known.command is None:
        known.command = _command_of(line)
    return known.command


def _command_of(line: str) -> str:
    if _programs().keys().isdisjoint(_NAMES.findall(line)):
        return ""
    typed, line = without_prompts(line).strip(), line.strip()
    if typed != line and command_of_tool(typed):
        return typed
    after = [rest for _, rest in prompts_of(line)]
    begun = [rest for rest in after if _begins(commands_in(rest)[:1])]
    return next((each for each in (*begun, typed, *after) if _has_option(each)), "")


def _begins(commands: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of `commands` is one of a tool, or a loop."""
    return any(_LOOPS & set(words[:1]) or _of_tool(words) for words in commands)


def _has_option(typed: str) -> bool:
    return any(map(_OPTION.fullmatch, command_of_tool(typed).split()[1:]))


def command_of_tool(typed: str, tool: str = "") -> str:
    """Return the command of a tool, or of one tool, alone in a command line; empty if there is none."""
    return next(commands_of_tools(typed, tool), "")


def commands_of_tools(typed: str, tool: str = "") -> Iterator[str]:
    """Yield each command of a tool, or of one tool, in a command line."""
    return filter(None, (_of_tool(words, tool) for words in commands_in(typed)))


def tools_of(typed: str) -> frozenset[str]:
    """Return the tools whose commands are in a command line."""
    programs = (name_of(shlex.split(command)[0]) for command in commands_of_tools(typed))
    return frozenset(tool for program in programs for tool in _programs()[program])


def without_first(typed: str, tool: str) -> str:
    """Return a command line without the first command of `tool`; empty if no command of a tool is left.

    What precedes the first command of any tool goes with it.
    """
    commands = commands_in(typed)
    first = next((at for at, words in enumerate(commands) if _of_tool(words)), len(commands))
    own = next((at for at, words in enumerate(commands) if _of_tool(words, tool)), len(commands))
    rest = [*(commands[:own] if own > first else ()), *commands[own + 1 :]]
    return "; ".join(map(_typed, rest)) if any(map(_of_tool, rest)) else ""


def _of_tool(words: Sequence[str], tool: str = "") -> str:
    """Return the command of a tool, or of one tool, in the words of a command; empty if it is none."""
    at = next((at for at, word in enumerate(words) if word not in _SHELL_WORDS), 0)
    for program in starts(words[at:])[0]:
        tools = _programs().get(name_of(words[at + program]), frozenset())
        if tool in tools or (tools and not tool):
            return _typed([word for word in words[at + program :] if not _is_redirection(word)])
    return ""


def _typed(words: Sequence[str]) -> str:
    return " ".join(word if _is_redirection(word) else shlex.quote(word) for word in words)


def _is_redirection(word: str) -> bool:
    return word[:2] in {"> ", "< "}


def is_loop(typed: str) -> bool:
    """Return whether a command line runs a command several times."""
    return bool(typed) and any(not _LOOPS.isdisjoint(words) for words in commands_in(typed))


def commands_in(typed: str) -> list[list[str]]:
    """Return the words of each command in a command line; of one that no shell reads, all in one."""
    try:
        return shell_commands(typed)
    except ValueError:
        return [typed.split()]


@cache
def _programs() -> dict[str, frozenset[str]]:
    """Return the tools by the names of their programs."""
    named = [(name, suite.tool) for suite in registry.readable() for name in suite.program.names]
    return {name: frozenset(tool for other, tool in named if other == name) for name, _ in named}
