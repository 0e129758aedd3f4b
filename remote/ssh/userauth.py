"""The client's side of SSH user authentication (RFC 4252, 4256), every step of it in the caller's thread.

paramiko's own signs and asks in the thread that reads the connection, where an agent that refuses to sign breaks it
and a user who thinks blocks it; and it cannot ask whether a key would be accepted before its passphrase is known.
"""

import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import paramiko
from paramiko.common import (
    MSG_SERVICE_ACCEPT,
    MSG_USERAUTH_BANNER,
    MSG_USERAUTH_FAILURE,
    MSG_USERAUTH_INFO_REQUEST,
    MSG_USERAUTH_SUCCESS,
    cMSG_SERVICE_REQUEST,
    cMSG_USERAUTH_INFO_RESPONSE,
    cMSG_USERAUTH_REQUEST,
)

from remote.plain import plain
from remote.ssh.transport import BoundedTransport, ExcessError, SilentError

REPLY_TIMEOUT = 30.0
"""Seconds the server may take to answer one request; a password that PAM refuses costs 3."""

REPLY_PAUSE = 0.5
"""Seconds between two looks at whether the connection is still there, should nobody say that it is not."""

MOST_PROMPTS = 32
MOST_ROUNDS = 16
MOST_REPLIES = 64
"""Questions at once, rounds of questions, and answers that nobody waits for: more is no server's honest work."""

_ACCEPTED_KEY = MSG_USERAUTH_INFO_REQUEST  # the same number serves both, depending on the method


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question of the server's, in plain text, and whether the answer may be shown while it is typed."""

    text: str
    echo: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said to a request: done, or by which methods it can go on. `partial`: this method succeeded."""

    success: bool
    methods: tuple[str, ...] = ()
    partial: bool = False


class UserAuth:
    """Authentication of one user on one connection. Installs itself as the transport's handler of its messages."""

    def __init__(self, transport: BoundedTransport, user: str) -> None:
        self._transport = transport
        self._user = user
        self._success = False
        self._replies: queue.SimpleQueue[tuple[int, paramiko.Message] | None] = queue.SimpleQueue()
        self._handler_table: dict[int, Callable[[paramiko.Message], None]] = {
            MSG_SERVICE_ACCEPT: self._keeper(MSG_SERVICE_ACCEPT),
            MSG_USERAUTH_SUCCESS: self._keeper(MSG_USERAUTH_SUCCESS),
            MSG_USERAUTH_FAILURE: self._keeper(MSG_USERAUTH_FAILURE),
            MSG_USERAUTH_INFO_REQUEST: self._keeper(MSG_USERAUTH_INFO_REQUEST),
            MSG_USERAUTH_BANNER: lambda _: None,  # a legal notice, as a rule; nobody here shows it
        }
        transport.auth_handler = self  # type: ignore[assignment]  # it asks no more of one than is here

    # What the transport's thread calls
    def _keeper(self, number: int) -> Callable[[paramiko.Message], None]:
        def keep(message: paramiko.Message) -> None:
            if self._replies.qsize() >= MOST_REPLIES:
                raise ExcessError("answers without a question")
            self._success = self._success or number == MSG_USERAUTH_SUCCESS
            self._replies.put((number, message))

        return keep

    def is_authenticated(self) -> bool:
        """Return whether the server let the user in."""
        return self._success

    def abort(self) -> None:
        """Wake whoever waits for an answer: the connection is gone."""
        self._replies.put(None)

    # What the caller's thread calls. All raise SSHException or EOFError where the connection breaks.
    def begin(self) -> None:
        """Ask for the service; must come first."""
        message = paramiko.Message()
        message.add_byte(cMSG_SERVICE_REQUEST)
        message.add_string("ssh-userauth")
        self._transport.send(message)
        number, _ = self._reply()
        if number != MSG_SERVICE_ACCEPT:
            raise paramiko.SSHException("no authentication service")

    def none(self) -> Answer:
        """Ask to be let in without proof: the usual way to learn which methods there are."""
        self._transport.send(self._request("none"))
        return self._outcome()

    def password(self, password: str) -> Answer:
        """Prove who the user is by a password."""
        message = self._request("password")
        message.add_boolean(False)
        message.add_string(password)
        self._transport.send(message)
        return self._outcome()

    def accepts(self, algorithm: str, blob: bytes) -> Answer | None:
        """Ask whether a public key would be accepted. Returns None where it would be, the refusal otherwise."""
        message = self._request("publickey")
        message.add_boolean(False)
        message.add_string(algorithm)
        message.add_string(blob)
        self._transport.send(message)
        number, reply = self._reply()
        return None if number == _ACCEPTED_KEY else _answer(number, reply)

    def public_key(self, key: paramiko.PKey, algorithm: str, blob: bytes) -> Answer:
        """Prove who the user is by a private key. Raises what the key's `sign_ssh_data` raises."""
        message = self._request("publickey")
        message.add_boolean(True)
        message.add_string(algorithm)
        message.add_string(blob)
        signed = paramiko.Message()
        signed.add_string(self._transport.session_id or b"")
        signed.add_bytes(message.asbytes())
        message.add_string(key.sign_ssh_data(signed.asbytes(), algorithm))
        self._transport.send(message)
        return self._outcome()

    def interactive(self, answer: Callable[[str, Sequence[Prompt]], Sequence[str]]) -> Answer:
        """Let `answer` answer the server's questions: it gets the server's introduction and the prompts."""
        message = self._request("keyboard-interactive")
        message.add_string("")
        message.add_string("")
        self._transport.send(message)
        for _ in range(MOST_ROUNDS):
            number, reply = self._reply()
            if number != MSG_USERAUTH_INFO_REQUEST:
                return _answer(number, reply)
            introduction, prompts = _questions(reply)
            response = paramiko.Message()
            response.add_byte(cMSG_USERAUTH_INFO_RESPONSE)
            texts = answer(introduction, prompts) if prompts else []
            response.add_int(len(texts))
            for text in texts:
                response.add_string(text)
            self._transport.send(response)
        raise ExcessError("endless questions")

    def _request(self, method: str) -> paramiko.Message:
        message = paramiko.Message()
        message.add_byte(cMSG_USERAUTH_REQUEST)
        message.add_string(self._user)
        message.add_string("ssh-connection")
        message.add_string(method)
        return message

    def _outcome(self) -> Answer:
        return _answer(*self._reply())

    def _reply(self) -> tuple[int, paramiko.Message]:
        deadline = time.monotonic() + REPLY_TIMEOUT
        while time.monotonic() < deadline:
            try:
                reply = self._replies.get(timeout=REPLY_PAUSE)
            except queue.Empty:
                if not self._transport.is_active():
                    raise EOFError from None
                continue
            if reply is None:
                raise EOFError
            return reply
        raise SilentError(f"no answer within {REPLY_TIMEOUT:.0f} s")


def _answer(number: int, message: paramiko.Message) -> Answer:
    if number == MSG_USERAUTH_SUCCESS:
        return Answer(success=True)
    if number != MSG_USERAUTH_FAILURE:
        raise paramiko.SSHException(f"message {number} out of place")
    methods = tuple(plain(method, 40) for method in message.get_list()[:MOST_PROMPTS])
    return Answer(success=False, methods=methods, partial=message.get_boolean())


def _questions(message: paramiko.Message) -> tuple[str, list[Prompt]]:
    introduction = plain(b" ".join([message.get_string(), message.get_string()]))
    message.get_string()  # the language, which nobody uses
    count = message.get_int()
    if count > MOST_PROMPTS:
        raise ExcessError(f"{count} prompts at once")
    return introduction, [Prompt(plain(message.get_string()), message.get_boolean()) for _ in range(count)]
