"""A keyring that keeps its secrets in memory, for tests of what goes in and out of one."""

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class KeyringInMemory(KeyringBackend):
    """Holds secrets by service and account; once `locked`, it raises as a keyring does whose user says no."""

    priority = -1  # never chosen by itself

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # keyring's own has no annotations
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def _check(self) -> None:
        if self.locked:
            raise KeyringLocked("the user said no")

    def get_password(self, service: str, username: str) -> str | None:
        self._check()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._check()
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError("there is none")
