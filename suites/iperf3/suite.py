"""iperf3: how much a network carries between two hosts, by TCP or UDP, one way or both."""

from collections.abc import Mapping

from suites.base import Command, Context, Effect, Estimate, Purpose, TrialParser, version_of
from suites.checks import StepCheck
from suites.iperf3.checks import IPERF3_CHECKS
from suites.iperf3.link import is_paced, is_udp, link_speed, tuned_bitrate, tuned_streams
from suites.iperf3.output import Iperf3Parser
from suites.iperf3.parameters import PARAMETERS
from suites.iperf3.rows import METRICS
from suites.parameters import Parameter, Tuned, Values
from suites.peer import address_effects, peer_address, port_word
from suites.runtime_checks import TRUSTED
from suites.vocab import Metric, Resource

JSON_STREAM = (3, 17)
"""The version that brought --json-stream; before it only text arrives while the test runs."""

TUNED_OMIT = 2.0

PACKAGES = {
    "apt": "iperf3",
    "dnf": "iperf3",
    "yum": "iperf3",
    "zypper": "iperf",
    "pacman": "iperf3",
    "apk": "iperf3",
}


class Iperf3:
    """The network test. The host is the client; the server runs once on the peer."""

    id = "iperf3"
    title = "iperf3"
    summary = "Sends or receives as much as the network carries, and counts what arrives."
    resource = Resource.NETWORK
    tool = "iperf3"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = True
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = IPERF3_CHECKS

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return a longer run without its slow start, and what fits the slower end's network interface."""
        tuned = {
            "time": Tuned(TRUSTED, f"{TRUSTED:g} s give {TRUSTED:g} samples; the tool's default gives 10."),
            "omit": Tuned(TUNED_OMIT, f"TCP's slow start falls into the first {TUNED_OMIT:g} s, which do not count."),
            "port": Tuned(
                0, "One that is free on the peer; where a firewall lets only some through, give one of these."
            ),
        }
        speed = link_speed(context)
        if speed is None:
            return tuned
        link = f"{speed / 1e9:g} Gbit/s"
        streams = tuned_streams(speed)
        if streams > 1:
            why = f"The slower interface does {link}; clouds let one TCP stream have no more than some 5 Gbit/s of it."
            tuned["streams"] = Tuned(streams, why)
        rate = tuned_bitrate(speed, streams)
        why = f"{streams} x {rate:g} Mbit/s is 90 % of the slower interface's {link}; UDP's default is 1 Mbit/s."
        tuned["bitrate"] = Tuned(rate, why)
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the server's command, for the peer, and the client's.

        Where no address of the peer is known yet, a placeholder in angle brackets stands for it: no shell and no
        resolver takes it for a host.
        """
        serve = ("iperf3", "-s", "-1", "-p", port_word(values, context), "--forceflush")
        return (Command(serve, Purpose.SERVE, on_peer=True), Command(_client(values, context)))

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the address that the user named."""
        return address_effects(values)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time and, where the rate is limited, the bytes that go over the network."""
        del context  # nothing about the hosts changes what is asked for
        seconds = float(values["time"]) + float(values["omit"])
        asked = float(values["bitrate" if is_udp(values) else "tcp_rate"])
        rate = asked * 1e6 * int(values["streams"]) * (2 if values["direction"] == "both" else 1)
        return Estimate(duration=seconds, network=int(rate / 8 * seconds) if rate > 0 else None)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return Iperf3Parser()


def _client(values: Values, context: Context) -> tuple[str, ...]:
    """Return the client's words. Text is asked for in kbit/s: in Mbit/s a rate under 100 has but three digits."""
    words = ["iperf3", "-c", peer_address(values, context), "-p", port_word(values, context)]
    if is_udp(values):
        words += ["-u", "-b", _rate_word(float(values["bitrate"]))]
    if is_paced(values):
        words += ["--fq-rate" if values["pacing"] == "kernel" else "-b", _rate_word(float(values["tcp_rate"]))]
    words += {"send": [], "receive": ["-R"], "both": ["--bidir"]}[str(values["direction"])]
    for option, name in (("-P", "streams"), ("-O", "omit"), ("-l", "length"), ("-w", "window"), *_TCP):
        words += _option(option, name, values)
    words += ["-t", str(int(values["time"])), "-i", "1"]
    version = version_of(context.facts, "iperf3")
    words += ["--json-stream"] if version is not None and version >= JSON_STREAM else ["--forceflush", "-f", "k", "-V"]
    return tuple(words)


_TCP = (("-M", "mss"), ("-C", "congestion"))


def _option(option: str, name: str, values: Values) -> list[str]:
    """Return the option's words, or none where the parameter has no effect or stands at the tool's own choice."""
    parameter = next(parameter for parameter in PARAMETERS if parameter.name == name)
    value = values[name]
    if value == parameter.default or not parameter.applies(values):
        return []
    return [option, str(value) if isinstance(value, str) else str(int(value))]


def _rate_word(megabits: float) -> str:
    """Return the rate as iperf3 reads it: M is 10^6 bits a second, 0 is unlimited."""
    return f"{megabits:.6f}".rstrip("0").rstrip(".") + ("M" if megabits else "")
