"""Client side of SSH user authentication (RFC 4252, 4256), in the caller's thread.

paramiko's implementation signs and asks in the thread that reads the connection: an agent that refuses to sign breaks
the connection, and a question to the user blocks it. It also cannot query whether a key is acceptable before the
passphrase is known.
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

from remote.questions import plain
from remote.ssh.transport import BoundedTransport, ExcessError, SilentError

REPLY_TIMEOUT = 30.0
"""Timeout in seconds for one reply; PAM delays the refusal of a password by about 3 s."""

REPLY_PAUSE = 0.5
"""Seconds between two checks whether the connection is still active."""

MOST_PROMPTS = 32
MOST_ROUNDS = 16
MOST_REPLIES = 64
"""Limits of prompts per request, of requests, and of unsolicited replies."""

_ACCEPTED_KEY = MSG_USERAUTH_INFO_REQUEST  # USERAUTH_PK_OK has the same number (60) in the publickey method


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt of the server, and whether the input may be shown."""

    text: str
    echo: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """Reply to a request: success, or the methods that can continue. `partial`: this method succeeded."""

    success: bool
    methods: tuple[str, ...] = ()
    partial: bool = False


class UserAuth:
    """Authentication of one user on one connection; installs itself as the transport's auth handler."""

    def __init__(self, transport: BoundedTransport, user: str) -> None:
        self._transport = transport
        self._user = user
        self._success = False
        self._replies: queue.SimpleQueue[tuple[int, paramiko.Message] | None] = queue.SimpleQueue()
        self._handler_table: dict[int, Callable[[paramiko.Message], None]] = {
            MSG_SERVICE_ACCEPT: self._enqueue(MSG_SERVICE_ACCEPT),
            MSG_USERAUTH_SUCCESS: self._enqueue(MSG_USERAUTH_SUCCESS),
            MSG_USERAUTH_FAILURE: self._enqueue(MSG_USERAUTH_FAILURE),
            MSG_USERAUTH_INFO_REQUEST: self._enqueue(MSG_USERAUTH_INFO_REQUEST),
            MSG_USERAUTH_BANNER: lambda _: None,  # usually a legal notice; not shown
        }
        transport.auth_handler = self  # type: ignore[assignment]  # implements what the transport calls

    # Called by the transport's thread
    def _enqueue(self, number: int) -> Callable[[paramiko.Message], None]:
        def enqueue(message: paramiko.Message) -> None:
            if self._replies.qsize() >= MOST_REPLIES:
                raise ExcessError("unsolicited replies")
            self._success = self._success or number == MSG_USERAUTH_SUCCESS
            self._replies.put((number, message))

        return enqueue

    def is_authenticated(self) -> bool:
        """Return whether the user is authenticated."""
        return self._success

    def abort(self) -> None:
        """Wake the thread that waits for a reply: the connection is closed."""
        self._replies.put(None)

    # Called by the caller's thread. All raise SSHException or EOFError if the connection breaks.
    def begin(self) -> None:
        """Request the ssh-userauth service; must be called first."""
        message = paramiko.Message()
        message.add_byte(cMSG_SERVICE_REQUEST)
        message.add_string("ssh-userauth")
        self._transport.send(message)
        number, _ = self._reply()
        if number != MSG_SERVICE_ACCEPT:
            raise paramiko.SSHException("no authentication service")

    def none(self) -> Answer:
        """Request the method `none`, which returns the available methods."""
        self._transport.send(self._request("none"))
        return self._outcome()

    def password(self, password: str) -> Answer:
        """Authenticate with a password."""
        message = self._request("password")
        message.add_boolean(False)
        message.add_string(password)
        self._transport.send(message)
        return self._outcome()

    def accepts(self, algorithm: str, blob: bytes) -> Answer | None:
        """Query whether a public key is acceptable; return None if it is, else the refusal."""
        message = self._request("publickey")
        message.add_boolean(False)
        message.add_string(algorithm)
        message.add_string(blob)
        self._transport.send(message)
        number, reply = self._reply()
        return None if number == _ACCEPTED_KEY else _answer(number, reply)

    def public_key(self, key: paramiko.PKey, algorithm: str, blob: bytes) -> Answer:
        """Authenticate with a private key. Raises what the key's `sign_ssh_data` raises."""
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
        """Authenticate by keyboard-interactive; `answer` gets the server's instruction and its prompts."""
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
        raise ExcessError("too many prompts")

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
        raise paramiko.SSHException(f"unexpected message {number}")
    methods = tuple(plain(method, 40) for method in message.get_list()[:MOST_PROMPTS])
    return Answer(success=False, methods=methods, partial=message.get_boolean())


def _questions(message: paramiko.Message) -> tuple[str, list[Prompt]]:
    introduction = plain(b" ".join([message.get_string(), message.get_string()]))
    message.get_string()  # the language tag
    count = message.get_int()
    if count > MOST_PROMPTS:
        raise ExcessError(f"{count} prompts at once")
    return introduction, [Prompt(plain(message.get_string()), message.get_boolean()) for _ in range(count)]
