"""The command line of the iperf3 client, as it is read back."""

import re
from collections.abc import Sequence

from suites.command_line import CommandSyntax, Respelled

_LONG = {"--client": "-c", "--time": "-t", "--parallel": "-P", "--omit": "-O", "--length": "-l", "--port": "-p",
         "--window": "-w", "--set-mss": "-M", "--congestion": "-C", "--udp": "-u", "--reverse": "-R",
         "--interval": "-i", "--format": "-f", "--verbose": "-V"}  # fmt: skip

_GROUPED = {"-uR": ("-u", "-R"), "-Ru": ("-u", "-R")}


def _separate_rates(words: Sequence[str]) -> list[str]:
    """Return the words with different options for the rates of UDP and of TCP; iperf3 has one for both."""
    separate = [each for word in words for each in _GROUPED.get(word, (word,))]
    option = "--udp-rate" if {"-u", "--udp"} & set(separate) else "--tcp-rate"
    found: list[str] = []
    for word in separate:
        match = re.fullmatch(r"(-b|--bitrate|--bandwidth|--fq-rate)=?(.*)", word)
        if match is None:
            found.append(word)
            continue
        found += [match[1]] if match[1] == "--fq-rate" else []
        found.append(Respelled(f"{option}={match[2]}" if match[2] else option, word))
    return found


def _megabits(text: str) -> str:
    """Return a rate of iperf3 (powers of 1000) in Mbit/s; raise ValueError for another text."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([kKmMgG]?)", text)
    if match is None:
        raise ValueError(text)
    return f"{float(match[1]) * {'': 1e-6, 'k': 1e-3, 'm': 1.0, 'g': 1e3}[match[2].lower()]:.6f}"


IPERF3_SYNTAX = CommandSyntax(
    ("iperf3",),
    choices=("protocol", "direction", "pacing"),
    aliases=_LONG,
    extra={"--udp-rate": "bitrate", "--tcp-rate": "tcp_rate"},
    invisible=frozenset({"bitrate", "tcp_rate"}),
    texts={"bitrate": _megabits, "tcp_rate": _megabits},
    normalised=_separate_rates,
)
