"""Which link a network trial used, and what went over it."""

from suites.checks import CannotTell
from suites.evidence import HostWatch, TrialEvidence
from suites.facts import Facts, Interface, known
from suites.vocab import Resource

LOOPBACK = ("127.", "::1", "localhost")


def within_host(trial: TrialEvidence) -> bool:
    """Whether both ends are on one host, so that no link is between them."""
    address = trial.context.peer_address or ""
    return trial.peer == trial.host or address.startswith(LOOPBACK)


def throughput(trial: TrialEvidence) -> float | None:
    """Return the bits a second that were received, all directions together; None where none is known."""
    figures = trial.all_of("throughput")
    received = [figure.value for figure in figures if dict(figure.labels).get("end") == "receiver"]
    return sum(received) if received else figures[0].value if figures else None


def carried(watch: HostWatch, interface: str) -> float | None:
    """Return the bytes that went over an interface in the measured time, both ways together."""
    found = [watch.total(metric, interface=interface) for metric in ("network_received", "network_sent")]
    given = [value for value in found if value is not None]
    return sum(given) if given else None


def busiest(watch: HostWatch) -> str | None:
    """Return the interface other than the loopback over which most went; None where none is watched."""
    names = {dict(at).get("interface", "") for at in watch.labels_of("network_sent")} - {"lo", ""}
    totals = {name: carried(watch, name) or 0.0 for name in names}
    return max(sorted(totals), key=lambda name: totals[name], default=None)


def link_of(trial: TrialEvidence) -> Interface | CannotTell:
    """Return the interface that the trial used, or why that is not known."""
    if trial.suite.resource is not Resource.NETWORK:
        return CannotTell("It is no test of a network.")
    if within_host(trial):
        return CannotTell("Both ends are on one host: no link is between them.")
    facts = trial.context.facts
    if facts is None or trial.watch is None:
        return CannotTell("The host was not watched while it ran.")
    name = busiest(trial.watch)
    found = next((one for one in facts.interfaces if one.name == name), None)
    return found or CannotTell("The interface that was used is not known.")


def speed_of(link: Interface) -> float | CannotTell:
    """Return the speed of a link in bits a second, or that it does not tell."""
    speed = known(link.speed)
    return float(speed) if speed else CannotTell(f"{link.name} does not tell its speed, as virtual ones do.")


def only_link(facts: Facts | None) -> Interface | None:
    """Return the one interface that is up and has a speed, for what goes over the network without saying where."""
    interfaces = () if facts is None else facts.interfaces
    given = [one for one in interfaces if one.name != "lo" and known(one.speed) is not None]
    return given[0] if len(given) == 1 else None
