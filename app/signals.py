"""Signals that are ignored when the program starts: by nohup, or by a script that runs it in the background."""

import signal
from types import FrameType

_INHERITED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


def stay_ignored(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: a handled signal is reset in child processes, an ignored one is inherited."""


def replace_ignored_signals() -> None:
    """Replace ignored signals by an empty handler, so that child processes get the default action.

    A benchmark that inherits an ignored SIGINT cannot be stopped by it. Call it in the main thread.
    Source: execve(2): ignored signals stay ignored, handled ones become the default.
    """
    for number in _INHERITED:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, stay_ignored)


def survives_hang_up() -> bool:
    """Return whether the program continues when its terminal closes, as under nohup."""
    return signal.getsignal(signal.SIGHUP) in {signal.SIG_IGN, stay_ignored}
