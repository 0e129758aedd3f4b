"""An SSH server that does as the test says: what a sound sshd would never do, or only with PAM."""

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import paramiko
from paramiko.common import AUTH_FAILED, AUTH_PARTIALLY_SUCCESSFUL, AUTH_SUCCESSFUL, OPEN_SUCCEEDED
from paramiko.server import InteractiveQuery

Behaviour = Callable[[paramiko.Channel], None]


@dataclass
class Script(paramiko.ServerInterface):
    """Who is let in, and what happens when a command is to run."""

    methods: str = "none"
    password: str | None = None
    prompts: Sequence[str] = ()
    answers: Sequence[str] = ()
    then: str = ""  # the method that is wanted after the first one succeeded
    exec_accepted: bool = True
    endless_prompts: bool = False
    before_answering: Callable[[], object] = bool  # called before the first request is answered
    sent_first: Sequence[paramiko.Message] = ()  # what the client gets before the answer to its first request
    behaviour: Behaviour | None = None
    asked: list[str] = field(default_factory=list)  # the methods the client tried
    transport: paramiko.Transport | None = None

    def get_allowed_auths(self, username: str) -> str:
        return self.then if self.then and self._done else self.methods

    @property
    def _done(self) -> bool:
        return "succeeded" in self.asked

    def _result(self, *, right: bool) -> int:
        if not right:
            return AUTH_FAILED
        if self.then and not self._done:
            self.asked.append("succeeded")
            return AUTH_PARTIALLY_SUCCESSFUL
        return AUTH_SUCCESSFUL

    def check_auth_none(self, username: str) -> int:
        self.asked.append("none")
        self.before_answering()
        for message in self.sent_first:
            if self.transport is not None:
                self.transport._send_message(message)  # type: ignore[attr-defined]
        return self._result(right=self.methods == "none")

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        self.asked.append("publickey")
        return self._result(right="publickey" in self.methods)

    def check_auth_password(self, username: str, password: str) -> int:
        self.asked.append("password")
        return self._result(right=password == self.password)

    def check_auth_interactive(self, username: str, submethods: str) -> int | InteractiveQuery:
        self.asked.append("keyboard-interactive")
        if not self.prompts:
            return AUTH_FAILED
        return InteractiveQuery("Welcome", "to the lab", *[(prompt, False) for prompt in self.prompts])

    def check_auth_interactive_response(self, responses: Sequence[str]) -> int | InteractiveQuery:
        if self.endless_prompts:
            return InteractiveQuery("", "", "Once more:")
        return self._result(right=list(responses) == list(self.answers))

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        if self.exec_accepted and self.behaviour is not None:
            marker = command.decode().split("printf %s ")[2].split(" ")[0]
            threading.Thread(target=self._run, args=(channel, marker), name="scripted-command", daemon=True).start()
        return self.exec_accepted

    def _run(self, channel: paramiko.Channel, marker: str) -> None:
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            channel.sendall(f"{marker}1:".encode())
            if self.behaviour is not None:
                self.behaviour(channel)


class ScriptedServer:
    """Listens on loopback and serves every connection by one script, until it is closed."""

    def __init__(self, script: Script, host_key: Path) -> None:
        self.script = script
        self._key = paramiko.Ed25519Key.from_private_key_file(str(host_key))
        self._transports: list[paramiko.Transport] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, name="scripted-server", daemon=True)
        self._thread.start()

    @property
    def known_hosts_line(self) -> str:
        return f"[127.0.0.1]:{self.port} {self._key.get_name()} {self._key.get_base64()}\n"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            self._transports.append(transport)
            transport.add_server_key(self._key)
            self.script.transport = transport
            transport.start_server(threading.Event(), self.script)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # it may be closed already
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for transport in self._transports:
            with contextlib.suppress(OSError):
                transport.sock.shutdown(socket.SHUT_RDWR)
            transport.close()
            transport.join()
            transport.packetizer.complete_handshake()
