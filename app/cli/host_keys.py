"""Unknown host keys of several hosts: one question about all of them."""

from collections.abc import Sequence

import click

from app.cli.common import plain, print_note
from app.cli.prompts import TerminalAsker, confirmed
from app.hosts.host_keys import TrustingAsker
from app.hosts.hosts import HostsError
from app.services import Workstation
from remote.questions import Asker, HostKeyQuestion
from suites.quantities import count_text


def trusting_asker(workstation: Workstation, hosts: Sequence[str], asker: TerminalAsker, *, accept: bool) -> Asker:
    """Return an asker that trusts the unknown keys of `hosts`, after one question about all of them, or if `accept`.

    Raises HostsError if the user does not trust them.
    """
    print_note(f"Reading the host keys of {count_text(len(hosts), 'host')}.")
    trusted: list[HostKeyQuestion] = []
    for _ in range(DEEPEST_JUMP):
        new = workstation.unknown_host_keys(hosts, trusted)
        if not new:
            break
        if not accept:
            _ask_for_all(new)
        trusted += new
    return TrustingAsker(asker, trusted)


DEEPEST_JUMP = 4
"""Rounds of questions: the key of a host is seen once those of its jump hosts are trusted."""


def _ask_for_all(questions: Sequence[HostKeyQuestion]) -> None:
    rows = [[one.host, f"{one.address}:{one.port}", one.key_type, one.fingerprint] for one in questions]
    click.echo(plain(f"{count_text(len(rows), 'host key')} unknown:"), err=True)
    for row in rows:
        click.echo(plain("  ".join(row)), err=True)
    if not confirmed("--accept-new to trust all of them", "Trust all of these keys"):
        raise HostsError(
            f"{count_text(len(rows), 'host key')} not trusted: nothing was started.",
            "Compare them with those that the provider shows, or connect to each host once with ssh.",
        )


accept_option = click.option(
    "--accept-new",
    is_flag=True,
    help="Trust unknown keys of hosts, as StrictHostKeyChecking=accept-new of ssh.",
)
