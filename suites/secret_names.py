"""Variables and options whose names say that their values are secrets, in the words of a user."""

import re

_SECRET = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API[_-]?KEY"
    r"|(?:S3|ACCESS|PRIVATE|AUTH|ENCRYPTION|LICEN[CS]E)[_-]?KEY"
    r"|(?<![A-Z0-9])(?:TOKEN|PASS|PWD)(?![A-Z0-9])",
    re.IGNORECASE,
)
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
