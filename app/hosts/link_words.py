"""How the way to a host stands, in the words of the window and the command line."""

from app.events import LinkChanged
from app.moments import age_text
from remote.link import LinkState

__all__ = ["LinkState", "link_text"]


def link_text(event: LinkChanged, now: float) -> str:
    """Return how the link stands at `now`, the workstation's monotonic clock; empty where all is well."""
    heard = f"last data {age_text(now - event.since)} ago"
    match event.state:
        case LinkState.STALLED:
            return f"stalled, {heard}"
        case LinkState.LOST:
            return f"connection lost, {heard}; the trial continues"
        case LinkState.RECONNECTING:
            return f"the trial continues; reconnecting, try {event.attempt}"
        case LinkState.NOT_REACHED:
            return "not measured"
        case LinkState.GIVEN_UP:
            return "connection lost, given up"
    return f"the host restarted {event.restarted}" if event.restarted else ""
