"""Where to connect, as it is typed: ssh's own notations, and what is refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote.errors import ConnectError
from remote.ssh.destination import Destination, parse_destination


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("web-1", Destination("web-1")),
        ("ssh", Destination("ssh")),
        ("root@h:2222", Destination("h", "root", 2222)),
        ("  ssh://ann@[2001:db8::1]:2222/ ", Destination("2001:db8::1", "ann", 2222)),
        ("ssh root@h -p 2222 -J bastion", Destination("h", "root", 2222, jump="bastion")),
        ("/usr/bin/ssh -vAtp22 -i '~/my key' -l ann h", Destination("h", "ann", 22, "~/my key")),
        ("ssh -l ann root@h", Destination("h", "root")),
        ("ssh -p 1 -p 2 h", Destination("h", port=1)),
        ("ssh h -o Port=2200 -oUser=ann -o 'HostName 192.0.2.1'", Destination("h", "ann", 2200, host_name="192.0.2.1")),
        ("ssh -o ProxyJump=a,b -o identityfile=k ssh://h", Destination("h", None, None, "k", "a,b")),
        ("ssh -- h", Destination("h")),
    ],
)
def test_a_destination_as_for_ssh(text: str, wanted: Destination) -> None:
    assert parse_destination(text) == wanted


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("ssh -p 2222", "names no host"),
        ("ssh h uptime", "“uptime” is a command"),
        ("ssh -p 99999 h", "Invalid port"),
        ("ssh -p 2222 root@h:22", "Two ports"),
        ("ssh://u:pw@h", "password"),
        ("u:pw@h:22", "password"),
        ("u:pw@[::1]", "password"),
        ("u:pw@::1", "password"),
        ("ssh -p ² h", "Invalid port"),
        ("ssh -Z h", "Invalid ssh command"),
        ("ssh 'h", "Invalid ssh command"),
        ("ssh -F config h", "option -F"),
        ("ssh -o ProxyCommand=sh h", "option -o ProxyCommand"),
        ("ssh -4 h", "option -4"),
        ("ssh -- -oProxyCommand=sh", "Invalid host name"),
        ("a b", "Invalid host name"),
        ("h\u202ex", "Invalid host name"),
        ("h" * 3000, "Longer than"),
    ],
)
def test_what_cannot_be_reached_is_refused_with_its_reason(text: str, named: str) -> None:
    with pytest.raises(ConnectError, match=named):
        parse_destination(text)


@given(st.one_of(st.text(max_size=60), st.text(max_size=60).map(lambda text: f"ssh {text}")))
def test_no_text_becomes_an_option_of_ssh(text: str) -> None:
    with suppress(ConnectError):
        found = parse_destination(text)
        assert found.host
        assert not found.host.startswith("-")
        assert not any(ord(character) <= 32 for character in found.host)
