"""The questions only the user may answer, passed on to whoever draws them."""

from remote.errors import Outcome
from remote.questions import (
    Asker,
    ConsentItem,
    ConsentQuestion,
    HostKeyQuestion,
    LocalProgramQuestion,
    LossQuestion,
    Refuse,
    SecretQuestion,
)

__all__ = [
    "Asker",
    "ConsentItem",
    "ConsentQuestion",
    "HostKeyQuestion",
    "LocalProgramQuestion",
    "LossQuestion",
    "Outcome",
    "Refuse",
    "SecretQuestion",
]
