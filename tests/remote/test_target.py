"""What the name of a host means: typed in, by keyword, or through the ssh configuration."""

import getpass
import os
from pathlib import Path

import pytest

from remote.errors import ConnectError, ConnectOutcome
from remote.questions import LocalProgramQuestion, RefusingAsker
from remote.ssh import local_program, ssh_config
from remote.ssh.target import NO_IDENTITY, SshTarget, aliases, resolve
from tests.remote.targets import config, resolved

__all__ = ["config"]  # a fixture


def refused(config: Path, text: str, name: str = "lab") -> ConnectError:
    with pytest.raises(ConnectError) as caught:
        resolved(config, text, name)
    return caught.value


@pytest.mark.parametrize(
    ("name", "host", "port", "user"),
    [
        ("web01", "web01", 22, None),
        ("web01.example.org:2222", "web01.example.org", 2222, None),
        ("ada@web01", "web01", 22, "ada"),
        ("ada@web01:2222", "web01", 2222, "ada"),
        ("[::1]", "::1", 22, None),
        ("[::1]:2222", "::1", 2222, None),
        ("ada@[fe80::1%eth0]:22", "fe80::1%eth0", 22, "ada"),
        ("::1", "::1", 22, None),
        ("fe80::1%eth0", "fe80::1%eth0", 22, None),
        ("ada@2001:db8::1", "2001:db8::1", 22, "ada"),
        ("ssh://ada@web01:2222", "web01", 2222, "ada"),
        ("10.0.0.1", "10.0.0.1", 22, None),
    ],
)
def test_a_name_as_typed(config: Path, name: str, host: str, port: int, user: str | None) -> None:
    target = resolve(name, config=config)
    assert (target.name, target.host_name, target.port) == (name, host, port)
    assert target.user == (user or getpass.getuser())
    assert (target.identity_files, target.identities_only, target.jumps) == ((), False, ())
    assert target.connect_timeout == 10.0


@pytest.mark.parametrize(
    "name",
    ["", " ", "a b", "-oProxyCommand=x", "h:0", "h:65536", "h:port", "@h", "ada@", "[::1", "a:b:c", "@::1", "h\n"],
)  # fmt: skip
def test_what_is_no_name(config: Path, name: str) -> None:
    with pytest.raises(ConnectError) as caught:
        resolve(name, config=config)
    assert caught.value.outcome is ConnectOutcome.CONFIG


def test_an_alias_is_looked_up(config: Path) -> None:
    target = resolved(
        config,
        """
# the lab
Host lab web
    HostName = 10.0.0.7
    User "ada lovelace"
    Port 2222   # not the usual one
    IdentityFile ~/.ssh/lab
    IdentitiesOnly yes
    ConnectTimeout 3
    ForwardAgent yes
Host *
    User somebody
    Port 22
""",
    )
    assert target == SshTarget(
        name="lab",
        host_name="10.0.0.7",
        port=2222,
        user="ada lovelace",
        identity_files=(Path.home() / ".ssh/lab",),
        identities_only=True,
        connect_timeout=3.0,
    )


def test_keywords_come_first_then_the_name_then_the_file(config: Path) -> None:
    text = "Host lab\n HostName file.example.org\n User file\n Port 1000\n IdentityFile /file\n ProxyJump gate\n"
    target = resolved(config, text, "name@lab:2000")
    assert (target.host_name, target.user, target.port) == ("file.example.org", "name", 2000)
    assert [jump.name for jump in target.jumps] == ["gate"]
    given = resolve(
        "name@lab:2000",
        host_name="10.0.0.1",
        port=3000,
        user="given",
        identity_file="~/given",
        jump="none",
        config=config,
    )
    assert (given.host_name, given.user, given.port) == ("10.0.0.1", "given", 3000)
    assert (given.identity_files, given.jumps) == ((Path.home() / "given",), ())


def test_the_user_s_own_file_comes_before_the_system_s_and_both_may_be_missing() -> None:
    assert aliases() == []
    folder = Path.home() / ".ssh"
    folder.mkdir()
    (folder / "config").write_text("Host lab\n HostName 10.0.0.9\n")
    assert aliases() == ["lab"]
    assert resolve("lab").host_name == "10.0.0.9"


def test_several_identity_files_with_their_tokens(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYS", "/keys")
    text = (
        "Host lab\n HostName 10.0.0.7\n User ada\n IdentityFile %d/a\n IdentityFile ~/b\n"
        "Host *\n IdentityFile ${KEYS}/%h-%r-%u-%n-%p-100%%\n IdentityFile none\n"
    )
    home = Path.home()
    last = Path(f"/keys/10.0.0.7-ada-{getpass.getuser()}-lab-22-100%")
    assert resolved(config, text).identity_files == (home / "a", home / "b", last, NO_IDENTITY)


def test_the_first_value_holds(config: Path) -> None:
    assert resolved(config, "Port 1\nHost lab\n Port 2\n").port == 1


def test_patterns_and_negation(config: Path) -> None:
    text = "Host *.example.org !bad.example.org\n Port 2222\nHost db?\n Port 3333\n"
    assert resolved(config, text, "web.example.org").port == 2222
    assert resolved(config, text, "bad.example.org").port == 22
    assert resolved(config, text, "db1").port == 3333
    assert resolved(config, text, "db10").port == 22


def test_the_host_name_may_contain_the_name(config: Path) -> None:
    assert resolved(config, "Host *\n HostName %h.example.org\n", "web").host_name == "web.example.org"


def test_files_are_included_where_the_line_stands(config: Path, tmp_path: Path) -> None:
    (tmp_path / "inner.conf").write_text("User inner\nHost other\n User other\n")
    text = f"Host lab\n Include {tmp_path}/*.conf\n Port 2222\nHost *\n User outer\n"
    assert (resolved(config, text).user, resolved(config, text).port) == ("inner", 2222)
    # Inside a block that does not apply, not even the Host lines of the included file do.
    assert resolved(config, text, "other").user == "outer"
    assert aliases(config) == ["lab", "other"]


def test_relative_includes_are_in_the_user_s_folder(config: Path) -> None:
    folder = Path.home() / ".ssh"
    (folder / "config.d").mkdir(parents=True)
    (folder / "config.d" / "work").write_text("Host lab\n Port 2222\n")
    assert resolved(config, "Include config.d/* missing\n").port == 2222


def test_a_file_that_includes_itself_is_an_error(config: Path) -> None:
    error = refused(config, f"Include {config}\n")
    assert str(config) in error.message
    assert "line 1" in error.message


def test_match_criteria(config: Path) -> None:
    text = (
        "Host alias\n HostName web.example.org\n User ada\n"
        "Match host *.example.org user ada\n Port 1111\n"
        "Match originalhost lab !user ada\n Port 2222\n"
        f"Match localuser {getpass.getuser()} host third\n Port 3333\n"
        "Match final host fourth\n Port 4444\n"
        "Match all\n ConnectTimeout 7\n"
    )
    assert resolved(config, text, "alias").port == 1111
    assert resolved(config, text, "lab").port == 2222
    assert resolved(config, text, "third").port == 3333
    assert resolved(config, text, "fourth").port == 4444
    assert resolved(config, text, "fifth").port == 22
    assert resolved(config, text, "fifth").connect_timeout == 7.0


class Programs(RefusingAsker):
    """Answers only whether programs may run, and records which were asked about."""

    def __init__(self, *, allow: bool) -> None:
        self.allow = allow
        self.asked: list[LocalProgramQuestion] = []

    def local_program(self, question: LocalProgramQuestion) -> bool:
        self.asked.append(question)
        return self.allow


@pytest.fixture
def command(tmp_path: Path) -> tuple[Path, Path]:
    """Return a command, and the file it makes where it is run."""
    ran = tmp_path / "ran"
    command = tmp_path / "command"
    command.write_text(f"#!/bin/sh\ntouch {ran}\n")
    command.chmod(0o700)
    return command, ran


@pytest.mark.parametrize("line", ["Match exec COMMAND", 'Match host lab exec "COMMAND"', "Match !exec COMMAND user *"])
def test_match_exec_is_never_executed_without_a_yes(config: Path, command: tuple[Path, Path], line: str) -> None:
    path, ran = command
    config.write_text(line.replace("COMMAND", str(path)) + "\n Port 2222\n")
    for asker in (None, Programs(allow=False)):
        with pytest.raises(ConnectError) as caught:
            resolve("lab", config=config, asker=asker)
        assert caught.value.outcome is ConnectOutcome.NOT_ALLOWED
        assert f"{config}, line 1" in caught.value.message
        assert str(path) in caught.value.message
    assert not ran.exists()


def test_match_exec_decides_once_it_is_allowed(config: Path, command: tuple[Path, Path]) -> None:
    path, ran = command
    asker = Programs(allow=True)
    config.write_text(f'Host *\n User ada\nMatch user ada exec "{path} %h %n"\n Port 2222\nMatch !exec false\n')
    assert resolve("lab", config=config, asker=asker).port == 2222
    assert ran.exists()
    question = LocalProgramQuestion("lab", "Match exec", f"{path} lab lab", str(config), 3)
    assert asker.asked[0] == question
    config.write_text("Match exec false\n Port 2222\n")
    assert resolve("lab", config=config, asker=asker).port == 22


@pytest.mark.parametrize("name", ["$(id)", "a;id", "`id`", "a|b", "a&b", "'a'", "${IFS}", "a>b"])
def test_a_name_that_a_shell_would_act_on_is_never_given_to_one(config: Path, name: str) -> None:
    for text in ("Match exec 'true %n'\n Port 1\n", "ProxyCommand nc %h %p\n", "ProxyCommand nc gate.%n\n"):
        config.write_text(text)
        with pytest.raises(ConnectError, match="passed to a shell") as caught:
            resolve(name, config=config, asker=Programs(allow=True))
        assert caught.value.outcome is ConnectOutcome.CONFIG
    config.write_text("ProxyCommand nc %r\n")
    with pytest.raises(ConnectError, match="passed to a shell"):
        resolve("lab", user=name, config=config)


def test_a_command_that_takes_too_long_is_ended(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_program, "LONGEST_DECISION", 0.2)
    config.write_text("Match exec 'sleep 30'\n Port 2222\n")
    with pytest.raises(ConnectError) as caught:
        resolve("lab", config=config, asker=Programs(allow=True))
    assert f"{config}, line 1" in caught.value.message


def test_match_exec_does_not_matter_where_the_rest_of_the_line_does_not_hold(config: Path) -> None:
    assert resolved(config, "Match exec /bin/false host elsewhere\n Port 2222\n").port == 22


def test_in_the_final_pass_host_lines_see_the_name_that_is_connected_to(config: Path) -> None:
    text = "HostName web.example.org\nHost web*\n Port 2222\nMatch final\n User ada\n"
    assert resolved(config, text).port == 2222
    assert resolved(config, text.replace("Match final", "Match user nobody")).port == 22


def test_names_are_not_made_canonical(config: Path) -> None:
    assert resolved(config, "Match canonical\n Port 5555\n").port == 22


def test_a_criterion_that_is_not_known_is_an_error_where_it_matters(config: Path) -> None:
    assert refused(config, "Match localnetwork 10.0.0.0/8\n Port 1\n").outcome is ConnectOutcome.NOT_ALLOWED
    assert resolved(config, "Match originalhost other localnetwork 10.0.0.0/8\n Port 1\n").port == 22


def test_a_proxy_command_is_taken_to_the_letter(config: Path) -> None:
    target = resolved(config, "Host lab\n User ada\n HostName 10.0.0.1\n ProxyCommand sh -c 'nc \"%h\" %p' # %r%%\n")
    line = "sh -c 'nc \"10.0.0.1\" 22' # ada%"
    assert target.proxy == LocalProgramQuestion("lab", "ProxyCommand", line, str(config), 4)
    assert resolve("other", config=config).proxy is None
    assert resolve("lab", jump="none", config=config).proxy is None


def test_a_proxy_command_that_passes_descriptors_is_no_way(config: Path) -> None:
    error = refused(config, "ProxyCommand nc -F %h %p\nProxyUseFdpass yes\n")
    assert f"{config}, line 2" in error.message


def test_of_proxy_command_and_proxy_jump_the_first_holds(config: Path) -> None:
    target = resolved(config, "Host lab\n ProxyJump gate\n ProxyCommand nc %h %p\n")
    assert [jump.host_name for jump in target.jumps] == ["gate"]
    assert target.proxy is None
    target = resolved(config, "Host lab\n ProxyCommand none\n ProxyJump gate\n")
    assert (target.jumps, target.proxy) == ((), None)
    config.write_text("Host lab\n ProxyCommand nc %h %p\n")
    assert [jump.name for jump in resolve("lab", jump="gate", config=config).jumps] == ["gate"]


def test_every_jump_host_is_looked_up(config: Path) -> None:
    text = (
        "Host lab\n ProxyJump ada@gate:2222,inner\nHost gate\n HostName 192.0.2.1\n Port 1\n User nobody\n"
        "Host inner\n HostName 10.0.0.1\n IdentityFile /inner\n"
    )
    gate, inner = resolved(config, text).jumps
    assert (gate.name, gate.host_name, gate.port, gate.user) == ("ada@gate:2222", "192.0.2.1", 2222, "ada")
    assert (inner.name, inner.host_name, inner.identity_files) == ("inner", "10.0.0.1", (Path("/inner"),))
    assert gate.jumps == inner.jumps == ()


def test_the_first_jump_host_may_have_jump_hosts_of_its_own(config: Path) -> None:
    text = "Host lab\n ProxyJump inner\nHost inner\n ProxyJump gate\n"
    assert [jump.name for jump in resolved(config, text).jumps] == ["gate", "inner"]


def test_none_means_no_jump_host(config: Path) -> None:
    assert resolved(config, "Host lab\n ProxyJump none\nHost *\n ProxyJump gate\n").jumps == ()


@pytest.mark.parametrize(
    "text",
    [
        "Host lab\n ProxyJump lab\n",
        "Host *\n ProxyJump gate\n",
        "Host lab\n ProxyJump a\nHost a\n ProxyJump b\nHost b\n ProxyJump a\n",
        "Host lab\n ProxyJump a,lab\n",
    ],
)
def test_jump_hosts_in_a_circle_are_an_error(config: Path, text: str) -> None:
    error = refused(config, text)
    assert error.outcome is ConnectOutcome.CONFIG
    assert "form a loop" in error.message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Host lab\n Port none\n", 2),
        ("Host lab\n Port 65536\n", 2),
        ("Host lab\n\n IdentitiesOnly perhaps\n", 3),
        ("ConnectTimeout soon\n", 1),
        ('HostName "half a name\n', 1),
        ("Host\n", 1),
        ("Host lab\n User\n", 2),
        ("=\n", 1),
        ("%%%\n", 1),
        ("IdentityFile /%z\n", 1),
        ("IdentityFile ${NO_SUCH_VARIABLE}/key\n", 1),
        ("Match user\n", 1),
        ("HostName %q\n", 1),
        ("AddressFamily ipx\n", 1),
        ("StrictHostKeyChecking perhaps\n", 1),
        ("ServerAliveInterval often\n", 1),
        ("ServerAliveCountMax -1\n", 1),
        ("Match exec\n", 1),
        ("ProxyCommand nc %q\n", 1),
    ],
)
def test_an_error_names_the_file_and_the_line(config: Path, text: str, line: int) -> None:
    error = refused(config, text)
    assert error.outcome is ConnectOutcome.CONFIG
    assert f"{config}, line {line}:" in error.message


def test_a_bad_jump_host_is_an_error(config: Path) -> None:
    assert refused(config, "ProxyJump gate:port\n").outcome is ConnectOutcome.CONFIG


def test_an_address_given_by_hand_counts_where_host_names_are_matched(config: Path) -> None:
    config.write_text("Match host 10.*\n User ada\n")
    assert resolve("lab", host_name="10.0.0.1", config=config).user == "ada"


def test_settings_nobody_here_needs_are_left_alone(config: Path) -> None:
    text = "UseKeychain yes\nRemoteCommand echo \"it's\nSendEnv LANG LC_*\nHost lab\n Port 2222\r\n"
    assert resolved(config, text).port == 2222


def test_aliases_are_names_not_patterns(config: Path) -> None:
    config.write_text("Host a b *.c !d e?\nHost *\nHost a 'f'\n")
    assert aliases(config) == ["a", "b", "f"]


SYSTEMD = """\
Host unix/* vsock/* machine/*
    ProxyCommand /usr/lib/systemd/systemd-ssh-proxy %h %p
    ProxyUseFdpass yes
Host .host machine/.host
    ProxyCommand /usr/lib/systemd/systemd-ssh-proxy unix/run/ssh-unix-local/socket %p
    ProxyUseFdpass yes
"""
"""20-systemd-ssh-proxy.conf of systemd 257, as Debian 13 has it in /etc/ssh/ssh_config.d."""


def test_the_hosts_are_those_of_the_users_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "systemd.conf").write_text(SYSTEMD + "Host office\n User ada\n")
    (tmp_path / "system").write_text(f"Include {tmp_path}/systemd.conf\nHost *\n Port 2222\n")
    monkeypatch.setattr(ssh_config, "SYSTEM_CONFIG", tmp_path / "system")
    assert aliases() == []
    (Path.home() / ".ssh").mkdir()
    (Path.home() / ".ssh" / "config").write_text("Host web\n HostName 10.0.0.9\n")
    assert aliases() == ["web"]
    assert (resolve("web").port, resolve("office").user) == (2222, "ada")  # whose settings apply all the same


def test_names_that_no_network_leads_to_are_no_hosts(config: Path, tmp_path: Path) -> None:
    (tmp_path / "systemd.conf").write_text(SYSTEMD)
    machines = "Host guest*\n ProxyCommand 'systemd-ssh-proxy' vsock/%n %p\nHost far\n ProxyCommand nc -x proxy %h %p\n"
    hosts = (
        "Host web\n Include systemd.conf\n Port 22\nMatch all\n ProxyCommand systemd-ssh-proxy x\nHost near guest1\n"
    )
    config.write_text(f"Include {tmp_path}/systemd.conf\nHost unix/a vsock/3 machine/db\n{machines}{hosts}")
    assert aliases(config) == ["far", "web", "near"]


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConnectError) as caught:
        aliases(tmp_path)
    assert str(tmp_path) in caught.value.message


def test_a_file_without_end_is_not_read_to_its_end(config: Path) -> None:
    os.truncate(os.open(config, os.O_CREAT | os.O_WRONLY), 2**31)
    with pytest.raises(ConnectError) as caught:
        aliases(config)
    assert "larger than" in caught.value.message
