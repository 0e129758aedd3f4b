"""Replacement of values in texts, bytes and JSON, in the encodings in which tools and formats write them."""

import base64
import binascii
import html
import json
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import quote, quote_plus

from app.sharing.named_hosts import hosts_in
from suites.secret_names import secret_words, secrets_in

_LEFT = (
    r"(?:(?<![^\W_])|(?<=\\[abfnrtv])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9a-fA-F]{4})|(?<=\\x[0-9A-Fa-f]{2})"
    r"|(?<=\\[0-7]{3})|(?<=\x1b\[[0-9]m)|(?<=\x1b\[[0-9]{2}m))"
)
"""Where a word begins: not after a letter or digit, unless that is the end of an escape."""

_RIGHT = r"(?![^\W_])"
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{12,}={0,2}(?![A-Za-z0-9+/=_-])")
LONGEST_PACKED = 16 * 2**20
"""Bytes of a compressed part that are looked into; a longer one is left out."""

_TOKENS = frozenset({"format", "suite", "unit", "purpose", "better", "policy", "order", "profile", "metric"})
"""Keys of JSON whose values are words of this program, which a host may be named like."""

_VALUES = frozenset({"values", "by_host"})
"""Keys of JSON with parameters of a step, whose names may be those of tokens."""

_ELEMENT = re.compile(
    r"a|abbr|b|blockquote|br|center|code|del|details|div|em|font|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|s|small|span"
    r"|strong|sub|summary|sup|table|tbody|td|th|thead|tr|tt|u|ul|var|wbr", re.IGNORECASE,
)  # fmt: skip
"""An element of HTML in notes and Markdown; ``</b>`` looks like a path, and a host may be named b."""

SYSTEM_PATHS = ("/usr/", "/etc/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/boot/", "/sys/", "/proc/")
"""Beginnings of paths whose ordinary words are those of every Linux."""

LONGEST_PATH = 4096
"""Bytes of a path (PATH_MAX of Linux)."""

_ABOVE = re.compile(r"(?<![\w/.-])(?:~[\w.-]*)?/(?:[^\s\"'=:,;()<>|\\]+/)?\Z")
"""An absolute path up to the / before a component."""

_BETWEEN = "\x1f"
"""A blank that is in no word of a command."""

LEFT_OUT = "[left out: too long to redact]"


_NONE: Mapping[str, str] = MappingProxyType({})


class Replacement:
    """Replaces values wherever they are words, longest first; counts what was replaced by value.

    `strong` values are replaced in any text, in any case. `weak` ones are ordinary or very short words: they are
    replaced where they are a whole string or line, a component of a path, a part of an address, or uname's host name.
    `folders` are ordinary words that are replaced as components of a path only; `beside_names` are secrets, and hosts
    that are ordinary words: they are replaced where a text names them as such (``--password=WORD``, ``host=WORD``).
    """

    def __init__(
        self,
        strong: Mapping[str, str],
        weak: Mapping[str, str],
        folders: Mapping[str, str] = _NONE,
        beside_names: Mapping[str, str] = _NONE,
    ) -> None:
        self._whole = {**weak, **strong}
        self._beside_names = beside_names
        self._folders = folders
        parts = "|".join(map(re.escape, sorted(folders, key=len, reverse=True)))
        self._folder = re.compile(rf"(?<=/)(?:{parts})(?![\w.-]*\w)" if parts else r"(?!)")
        self.counts = Counter[str]()
        self._owner = dict[str, str]()
        self._new = dict[str, str]()
        self._written = dict[str, str]()
        for value, new in strong.items():
            for written in variants(value):
                self._new.setdefault(written.lower(), new)
                self._owner.setdefault(written.lower(), value)
                self._written.setdefault(written.lower(), written)
        places = "|".join(map(re.escape, sorted(weak, key=len, reverse=True)))
        self._weak = weak
        self._weak_places = (
            re.compile(
                rf"(?<=[/@])(?:{places}){_RIGHT}|{_LEFT}(?:{places})(?=@)"
                rf"|^(?:{places})$|(?<=Linux )(?:{places})(?= \d+\.)",
                re.MULTILINE,
            )
            if places
            else re.compile(r"(?!)")
        )

    def text(self, text: str) -> str:
        """Return `text` with the values replaced."""
        if text in self._whole:
            self.counts[text] += 1
            return self._whole[text]
        return _BASE64.sub(self._unpacked, self._plain(self._without_named(text)))

    def data(self, data: bytes) -> bytes:
        """Return `data` with the values replaced; bytes that are no UTF-8 are unchanged."""
        if packed := _decompressed(data):
            found, format_bits = packed
            compressor = zlib.compressobj(wbits=format_bits)
            return compressor.compress(self.data(found)) + compressor.flush()
        if data[:2] == b"\x1f\x8b":
            return LEFT_OUT.encode()
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def stored(self, text: str) -> str:
        """Return a stored text with the values replaced, within its strings if it is JSON."""
        if text[:1] in {"{", "["}:
            try:
                content = json.loads(text)
            except (ValueError, RecursionError):
                return self.text(text)
            return json.dumps(self.json(content))
        return self.text(text)

    def json(self, content: object, tokens: frozenset[str] = _TOKENS) -> object:
        """Return JSON with the values replaced in its strings and keys, but for the values of `tokens`."""
        if isinstance(content, str):
            return self.text(content)
        if isinstance(content, list):
            if self._beside_names and all(isinstance(each, str) for each in content):
                content = list(content)
                for number, start in secret_words(content):
                    content[number] = content[number][:start] + self._new_name(content[number][start:])
                words = self._without_named(_BETWEEN.join(content)).split(_BETWEEN)  # mysql -pSECRET
                content = words if len(words) == len(content) else content
            return [self.json(each, tokens) for each in content]
        if isinstance(content, dict):
            return {
                self._key(key): each if key in tokens else self.json(each, frozenset() if key in _VALUES else tokens)
                for key, each in content.items()
            }
        return content

    def _without_named(self, text: str) -> str:
        """Return `text` with the secrets and hosts replaced that stand beside their names."""
        for find in (secrets_in, hosts_in) if self._beside_names else ():
            for start, end in reversed(list(find(text))):
                text = text[:start] + self._new_name(text[start:end]) + text[end:]
        return text

    def _new_name(self, value: str) -> str:
        if value not in self._beside_names:
            return value
        self.counts[value] += 1
        return self._beside_names[value]

    def _key(self, key: str) -> str:
        """Return a key; an ordinary word is the name of a field."""
        return key if key in self._weak else self.text(key)

    def _plain(self, text: str) -> str:
        folded = text.lower()
        found = (self._written[each] for each in self._new if each in folded)
        present = tuple(sorted(found, key=len, reverse=True))
        if present:
            text = _pattern(present).sub(self._replaced, text)
        text = self._weak_places.sub(self._replaced_weak, text)
        return self._folder.sub(self._replaced_folder, text)

    def _replaced(self, match: re.Match[str]) -> str:
        if _is_tag(match):
            return match[0]
        key = match[0].lower()
        self.counts[self._owner[key]] += 1
        return self._new[key]

    def _replaced_weak(self, match: re.Match[str]) -> str:
        if _is_tag(match):
            return match[0]
        self.counts[match[0]] += 1
        return self._weak[match[0]]

    def _replaced_folder(self, match: re.Match[str]) -> str:
        """Return the new name of a component of an absolute path: “read/write” is none."""
        above = _ABOVE.search(match.string, max(0, match.start() - LONGEST_PATH), match.start())
        if above is None or above[0].startswith(SYSTEM_PATHS) or _is_tag(match):
            return match[0]
        self.counts[match[0]] += 1
        return self._folders[match[0]]

    def _unpacked(self, match: re.Match[str]) -> str:
        """Return a word of base64 whose content has a value with that replaced; any other word as it is."""
        word = match[0].rstrip("=")
        plain = word.translate(str.maketrans("-_", "+/"))
        try:
            content = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        except (binascii.Error, ValueError):
            return match[0]
        if _decompressed(content) is None and not _is_text(content):
            return match[0]
        found = self.data(content)
        return match[0] if found == content or _same(found, content) else base64.b64encode(found).decode()


def _is_tag(match: re.Match[str]) -> bool:
    """Return whether a match is the name in a tag of HTML: ``<b>``, ``</b>``, ``<br/>``, ``<td align=right>``."""
    start, after = match.start(), match.string[match.end() : match.end() + 1]
    opened = match.string[max(0, start - 2) : start].endswith(("<", "</"))
    return opened and after in {">", "/", " "} and _ELEMENT.fullmatch(match[0]) is not None


def _is_text(content: bytes) -> bool:
    text = content.decode("utf-8", "replace")
    return sum(each.isprintable() or each.isspace() for each in text) >= 0.8 * len(text)


def _same(first: bytes, second: bytes) -> bool:
    """Return whether two compressed contents are the same."""
    one, other = _decompressed(first), _decompressed(second)
    return one is not None and other is not None and one[0] == other[0]


def _decompressed(data: bytes) -> tuple[bytes, int] | None:
    """Return the content of gzip or zlib data and the format; None for other data, or more than LONGEST_PACKED."""
    if data[:2] != b"\x1f\x8b" and data[:2] not in {b"\x78\x01", b"\x78\x9c", b"\x78\xda"}:
        return None
    bits = 31 if data[:2] == b"\x1f\x8b" else 15
    decompressor = zlib.decompressobj(wbits=bits)
    try:
        found = decompressor.decompress(data, LONGEST_PACKED)
    except zlib.error:
        return None
    return (found, bits) if decompressor.eof and not decompressor.unused_data else None


@lru_cache(maxsize=256)
def _pattern(present: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the values that a text has, longest first."""
    parts = (f"{_LEFT * _wordy(one[0])}{re.escape(one)}{_RIGHT * _wordy(one[-1])}" for one in present)
    return re.compile("|".join(parts), re.IGNORECASE)


def _wordy(character: str) -> bool:
    return character.isalnum()


def variants(value: str) -> Iterator[str]:
    """Yield `value` as it is and as JSON, HTML, URLs, shells, mount tables, device mapper and systemd write it."""
    yield value
    escaped = (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    found = [
        *escaped,
        *(each.replace("/", "\\/") for each in escaped),
        html.escape(value),
        html.escape(value, quote=False),
        html.escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        value.replace("'", "'\"'\"'"),
        value.replace("'", "'\\''"),
        shlex.quote(value).strip("'"),
        re.sub(r"([^\w@%+=:,./-])", r"\\\1", value),
        value.replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011"),
        value.replace("-", "--"),
        value.replace("-", "\\x2d"),
        value.replace("-", "\\\\x2d"),
        value.encode("ascii", "xmlcharrefreplace").decode(),
    ]
    yield from (each for each in dict.fromkeys(found) if each != value)
