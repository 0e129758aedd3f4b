"""What OpenSSH fills in: the tokens of its configuration (%h and the like), the environment, the user's home."""

import hashlib
import os
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from remote.ssh.ssh_config import Entry, local_user

FILE_TOKENS = ("C", "d", "h", "i", "k", "L", "l", "n", "p", "r", "u")
"""Tokens in the names of files: IdentityFile, CertificateFile, IdentityAgent, UserKnownHostsFile."""

_SHELL_CHARACTERS = frozenset("'`\"$\\;&<>|(){}")
"""What no host or user name may contain that is handed to a shell. Source: ssh.c, valid_hostname and valid_ruser."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """What is known of a host for the tokens of ssh_config(5). `alias` is its HostKeyAlias."""

    name: str
    host_name: str
    port: str
    user: str
    alias: str = ""

    def chosen(self, letters: Iterable[str]) -> dict[str, str]:
        """Return what the `letters` stand for. Source: ssh_config(5), TOKENS."""
        host = socket.gethostname()
        connection = f"{host}{self.host_name}{self.port}{self.user}"
        every = {
            "C": hashlib.sha1(connection.encode(), usedforsecurity=False).hexdigest(),
            "d": str(Path.home()),
            "h": self.host_name,
            "i": str(os.getuid()),
            "k": self.alias or self.name,
            "L": host.partition(".")[0],
            "l": host,
            "n": self.name,
            "p": self.port,
            "r": self.user,
            "u": local_user(),
        }
        return {letter: every[letter] for letter in letters}


def expand(entry: Entry, text: str, tokens: Mapping[str, str]) -> str:
    """Return `text` with ``%x`` replaced by the token ``x`` and ``%%`` by ``%``; raise ConnectError for any other."""

    def replace(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        if match[1] not in tokens:
            raise entry.error(f"{match[0]} is not understood here.")
        return tokens[match[1]]

    return re.sub(r"%(.?)", replace, text) if "%" in text else text


def expand_for_shell(entry: Entry, text: str, tokens: Mapping[str, str]) -> str:
    """Return `text`, a line for a shell, with its tokens filled in.

    Raises ConnectError where a name that is filled in could be taken for more than a name.
    """
    for letter in {"h", "k", "n", "r"} & tokens.keys():
        if f"%{letter}" in text and _is_harmful(tokens[letter]):
            raise entry.error(
                f"“{tokens[letter][:60]}” would be handed to a shell in place of %{letter}.",
                "Use a name without spaces, quotes and other characters that a shell acts on.",
            )
    return expand(entry, text, tokens)


def _is_harmful(name: str) -> bool:
    return name.startswith("-") or any(
        character in _SHELL_CHARACTERS or character.isspace() or not character.isprintable() for character in name
    )


def expand_file(entry: Entry, text: str, tokens: Tokens) -> Path:
    """Return the file that `text` names, with its tokens, ``${VARIABLE}`` and ``~`` filled in."""

    def variable(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise entry.error(f"the environment has no {match[1][:40]}.")
        return os.environ[match[1]]

    filled = re.sub(r"\$\{(\w+)\}", variable, expand(entry, text, tokens.chosen(FILE_TOKENS)))
    return Path(filled).expanduser()
