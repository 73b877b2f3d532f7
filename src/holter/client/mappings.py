"""`run.config` and `run.summary`: dictionaries whose every change is kept."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

Keep = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes the mapping as the user changed it, records it, and returns it as plain values."""


class Config(MutableMapping[str, Any]):
    """The run's configuration, by item or attribute; nested dicts read as `config.model.width` too."""

    def __init__(self, values: dict[str, Any], keep: Keep) -> None:
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_keep", keep)

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        return Config(value, self._keep_inner(key)) if isinstance(value, dict) else value

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        self._replace({name: value for name, value in self._values.items() if name != key})

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"the config has no {name!r}; it has {', '.join(self._values) or 'nothing yet'}"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __repr__(self) -> str:
        return repr(self._values)

    def update(self, *others: Any, allow_val_change: bool | None = None, **values: Any) -> None:
        """Change several values as one record. `allow_val_change` is W&B's; every change is allowed here."""
        changed = dict(self._values)
        for other in others:
            changed |= vars(other) if not isinstance(other, Mapping) and hasattr(other, "__dict__") else dict(other)
        self._replace(changed | values)

    def setdefaults(self, values: Mapping[str, Any]) -> None:
        """Add what is not there yet."""
        self._replace({**values, **self._values})

    def as_dict(self) -> dict[str, Any]:
        """A copy as plain dicts."""
        return {key: dict(value) if isinstance(value, dict) else value for key, value in self._values.items()}

    def _replace(self, values: dict[str, Any]) -> None:
        kept = self._keep(values)
        self._values.clear()
        self._values.update(kept)

    def _keep_inner(self, key: str) -> Keep:
        def keep(values: dict[str, Any]) -> dict[str, Any]:
            kept = self._keep({**self._values, key: values})
            inner: dict[str, Any] = kept[key]
            return inner

        return keep


class Summary(MutableMapping[str, Any]):
    """The last value of every key, unless somebody set another by hand."""

    def __init__(self, last: Callable[[], dict[str, Any]], by_hand: dict[str, Any], *, keep: Keep) -> None:
        object.__setattr__(self, "_last", last)
        object.__setattr__(self, "_by_hand", by_hand)
        object.__setattr__(self, "_keep", keep)

    def __getitem__(self, key: str) -> Any:
        return self._by_hand[key] if key in self._by_hand else self._last()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        self._replace({name: value for name, value in self._by_hand.items() if name != key})

    def __iter__(self) -> Iterator[str]:
        return iter({**self._last(), **self._by_hand})

    def __len__(self) -> int:
        return len({**self._last(), **self._by_hand})

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the summary has no {name!r} yet") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __repr__(self) -> str:
        return repr({**self._last(), **self._by_hand})

    def update(self, *others: Any, **values: Any) -> None:
        """Set several values as one record."""
        changed = dict(self._by_hand)
        for other in others:
            changed |= dict(other)
        self._replace(changed | values)

    def _replace(self, values: dict[str, Any]) -> None:
        kept = self._keep(values)
        self._by_hand.clear()
        self._by_hand.update(kept)
