"""The questions only the user may answer, passed on to whoever draws them."""

from remote.errors import Outcome
from remote.questions import Asker, HostKeyQuestion, LocalProgramQuestion, LossQuestion, Refuse, SecretQuestion

__all__ = [
    "Asker",
    "HostKeyQuestion",
    "LocalProgramQuestion",
    "LossQuestion",
    "Outcome",
    "Refuse",
    "SecretQuestion",
]
