"""Variables and options whose names say that their values are secrets, in the words of a user."""

import re
from collections.abc import Iterator

_NAMES = (
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API[_-]?KEY"
    r"|(?:S3|ACCESS|PRIVATE|AUTH|ENCRYPTION|LICEN[CS]E)[_-]?KEY"
    r"|(?<![A-Z0-9])(?:TOKEN|PASS|PWD)(?![A-Z0-9])"
)
_SECRET = re.compile(_NAMES, re.IGNORECASE)
_NAMED = (
    rf"(?<![\w-])-{{0,2}}(?=\w)(?!(?:no-|(?:OLD)?PWD=))(?=[\w-]{{0,60}}?(?:{_NAMES}))"
    r"[\w-]{1,100}(?<!FILE)(?<!PATH)(?<!DIR)"
)
_BARE = r"(?:\\[^\"'\n]|,(?!\w[\w.-]*=)|[^\s\"'\\&;|<>,])+"
_QUOTED = rf"(?:\"[^\"\n]+\"|'[^'\n]+'|{_BARE})"
_PLACE = re.compile(
    rf"(?<=')(?P<whole>{_NAMED}=)[^'\n]+(?=')|(?<=\")(?P<whole2>{_NAMED}=)[^\"\n]+(?=\")"
    rf"|(?P<key>{_NAMED}\\*[\"']\s*:\s*)(?:\\*[\"'][^\"'\\\n]+|[^\s\"'{{}}\[\],]+)"
    rf"|(?P<name>{_NAMED}\s*=\s*|(?<![^\n])[ \t]{{0,40}}{_NAMED}:[ \t]+|(?<![\w-])(?=--?\w){_NAMED}[^\S\n]+(?!-))"
    rf"(?:\"[^\"\n]+\"|'[^'\n]+'|\\+\"(?:[^\"\n\\]+)|{_BARE})"
    r"|(?P<header>\b(?:Authorization|Cookie|X-[\w-]*(?:Key|Token)):[^\S\n]*(?:(?:Basic|Bearer|Token)[^\S\n]+)?)"
    r"[^\s\"'\\][^\"'\n\\]*"
    r"|(?P<short>\b(?:(?:mysql|mariadb)[\w-]*\b[^\n|;&]{0,300}?\s-p|redis-[\w-]+\b[^\n|;&]{0,300}?\s-a\s+"
    rf"|curl\b[^\n|;&]{{0,300}}?\s-u\s*[^\s:]{{0,100}}:|sshpass\s+-p\s*|ipmitool\b[^\n|;&]{{0,300}}?\s-P\s+)){_BARE}"
    rf"|(?P<here>\b(?:sudo\s[^\n|;&]{{0,60}}?-\w*(?-i:S)\b|chpasswd\b|cryptsetup\b|kinit\b)[^\n|;&]{{0,300}}?<<<\s*){_QUOTED}"
    rf"|(?P<piped>\becho\s+(?:-n\s+)?){_QUOTED}(?=\s*\|\s*sudo\s[^\n|;&]{{0,60}}?-\w*(?-i:S)\b)",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"mysql|mariadb|redis-|sshpass|ipmitool|curl|authorization:|cookie:|(?:key|token):|<<<|sudo", re.IGNORECASE
)
"""Programs and headers with secrets that have no such name."""

_VARIABLE = re.compile(r"\$(?:\w+|\{\w+\}|\(.*)")
_GIVEN = re.compile(r"(?<!\S)['\"]?(?:-{0,2}([\w-]{1,100})\s*=\s*|--([\w-]{1,100})\s+)['\"]?([^\s'\"-][^\s'\"]*)")
_PARAMETER = re.compile(r"[?&]([\w-]{1,100})=([^\s&'\"]+)")
_ACCOUNT = re.compile(r"://[^\s/@:]{0,100}:[^\s/@]{1,100}@")
_HEADER = re.compile(r"\b(Authorization|Cookie|X-[\w-]*(?:Key|Token)): *(?!(?:\w+ +)?\$)\S", re.IGNORECASE)
_HARMLESS = re.compile(r"(?:\d{1,2}|yes|no|true|false|on|off|none|\$.*|/.*|~/.*)", re.IGNORECASE)
"""Values that are no secrets: numbers such as that of a pass, switches, variables, paths of files with the secret."""


def secret_name(text: str) -> str:
    """Return the variables, options and parts of URLs and headers of `text` that hold a secret, "" without one."""
    given = [(variable or option, value) for variable, option, value in _GIVEN.findall(text)]
    named = [name[:60] for name, value in (*given, *_PARAMETER.findall(text)) if _is_secret(name, value)]
    named += [header[:60] for header in _HEADER.findall(text)]
    named += ["a password in a URL"] if _ACCOUNT.search(text) else []
    return ", ".join(dict.fromkeys(named))


def _is_secret(name: str, value: str) -> bool:
    return bool(_SECRET.search(name)) and not _HARMLESS.fullmatch(value)


def secrets_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the values of the secrets stand in `text`, whatever they look like; variables are none."""
    if not _SECRET.search(text) and not _OTHERS.search(text):
        return
    for found in _PLACE.finditer(text):
        start = next(found.end(part) for part in _PLACE.groupindex if found[part])
        end = found.end()
        value = text[start:end]
        if not value.startswith("'") and _VARIABLE.fullmatch(value.strip('"')):
            continue
        while start < end and text[start] in "\\\"'":
            start += 1
        while start < end and text[end - 1] in "\"',":
            end -= 1
        if start < end:
            yield start, end


def secret_words(words: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the number of each word of a command that has a secret, and where that begins: it reaches to the end."""
    for number, word in enumerate(words):
        if (named := _WORD.match(word)) and named.end() < len(word) and not _VARIABLE.fullmatch(word[named.end() :]):
            yield number, named.end()
        elif number and _OPTION.fullmatch(words[number - 1]) and not word.startswith("-") and word:
            yield number, 0


_WORD = re.compile(rf"{_NAMED}=", re.IGNORECASE)
_OPTION = re.compile(rf"(?=-){_NAMED}", re.IGNORECASE)
