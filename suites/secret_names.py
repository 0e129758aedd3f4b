"""Variables and options whose names say that their values are secrets, in the words of a user."""

import re

_SECRET = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API[_-]?KEY"
    r"|(?:S3|ACCESS|PRIVATE|AUTH|ENCRYPTION|LICEN[CS]E)[_-]?KEY"
    r"|(?<![A-Z0-9])(?:TOKEN|PASS|PWD)(?![A-Z0-9])",
    re.IGNORECASE,
)
_GIVEN = re.compile(r"(?<!\S)['\"]?(?:-{0,2}([\w-]{1,100})\s*=\s*|--([\w-]{1,100})\s+)['\"]?([^\s'\"-][^\s'\"]*)")
_URL = re.compile(r"://[^\s/@:]{1,100}:[^\s/@]{1,100}@")
_HARMLESS = re.compile(r"(?:\d{1,2}|yes|no|true|false|on|off|none|\$.*|/.*|~/.*)", re.IGNORECASE)
"""Values that are no secrets: numbers such as that of a pass, switches, variables, paths of files with the secret."""


def secret_name(text: str) -> str:
    """Return the first variable or option of `text` that is set to a secret, "" without one."""
    for variable, option, value in _GIVEN.findall(text):
        name: str = variable or option
        if _SECRET.search(name) and not _HARMLESS.fullmatch(value):
            return name[:60]
    return "a password in a URL" if _URL.search(text) else ""
