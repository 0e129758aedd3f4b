"""Questions to the user, re-exported for the window and the command line."""

from remote.errors import ConnectOutcome
from remote.questions import (
    Asker,
    ConsentItem,
    ConsentQuestion,
    HostKeyQuestion,
    LocalProgramQuestion,
    LossQuestion,
    RefusingAsker,
    SecretQuestion,
)

__all__ = [
    "Asker",
    "ConnectOutcome",
    "ConsentItem",
    "ConsentQuestion",
    "HostKeyQuestion",
    "LocalProgramQuestion",
    "LossQuestion",
    "RefusingAsker",
    "SecretQuestion",
]
