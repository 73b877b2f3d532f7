"""Which proxies are believed when they say for whom they ask."""

import ipaddress
from collections.abc import Sequence

from holter.errors import UsageError


class Proxies:
    """The addresses and networks that somebody named. Raises UsageError for what is neither."""

    def __init__(self, named: Sequence[str]) -> None:
        self.named = tuple(named)
        try:
            self._networks = [ipaddress.ip_network(each) for each in named]
        except ValueError as error:
            raise UsageError(f"--proxy takes an address or a network such as 10.0.0.0/24: {error}") from None

    def has(self, address: str) -> bool:
        """Whether it is that of one."""
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._networks)
