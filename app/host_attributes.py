"""What an inventory states about a host: type, zone, price and the like."""

import re
from dataclasses import dataclass

_CODE = re.compile("[A-Za-z]{3}")
_SIGNS = {"€": "EUR", "£": "GBP"}


def currency_code(text: str) -> str:
    """Return the code of ISO 4217: ``USD`` for ``usd``, ``EUR`` for ``€``; other texts, such as ``$``, as they are."""
    return text.upper() if _CODE.fullmatch(text) else _SIGNS.get(text, text)


@dataclass(frozen=True, slots=True)
class HostAttributes:
    """What an inventory states about a host; empty where it states nothing.

    `price` is per hour in `currency`; `launched` is UTC, ISO 8601. `storage` and `link` name a storage system and a
    network link that it shares with other hosts.
    """

    instance_type: str = ""
    zone: str = ""
    price: float | None = None
    currency: str = ""
    image: str = ""
    launched: str = ""
    instance_id: str = ""
    storage: str = ""
    groups: tuple[str, ...] = ()
    link: str = ""

    def __post_init__(self) -> None:
        """Write the currency in one way: two would be two currencies."""
        object.__setattr__(self, "currency", currency_code(self.currency))

    @property
    def price_text(self) -> str:
        """The price of an hour: ``0.34 USD``; empty if it is not stated."""
        return "" if self.price is None else f"{self.price:g} {self.currency}".rstrip()

    def texts(self) -> dict[str, str]:
        """Return what is stated as texts by title, as a ticket has it."""
        return {
            "Instance": self.instance_id,
            "Type": self.instance_type,
            "Zone": self.zone,
            "Image": self.image,
            "Launched": self.launched,
            "Price an hour": self.price_text,
        }


@dataclass(frozen=True, slots=True)
class HostAddress:
    """Where a saved host is reached, for workers that do not know it. No key files: each worker has its own keys.

    `jump` has the syntax of OpenSSH's ProxyJump.
    """

    host_name: str
    port: int | None = None
    user: str | None = None
    jump: str | None = None
