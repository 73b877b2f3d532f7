"""`run.config` and `run.summary`: dictionaries whose every change is kept."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Self

from holter.client.named_values import names_given
from holter.errors import UsageError

Report = Callable[[str, Exception], None]
"""Takes what was being done, and why it was not."""


class Branch(dict[str, Any]):
    """A nested part as a real dict, by attribute too; a change of it is a change of what it was taken from."""

    def __init__(self, source: MutableMapping[str, Any]) -> None:
        super().__init__(source)
        object.__setattr__(self, "_source", source)

    def __setitem__(self, key: str, value: Any) -> None:
        self._source[key] = value
        super().__setitem__(key, self._source[key])

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        del self._source[key]

    # Those of `dict` would not come by the two above.
    clear = MutableMapping.clear
    popitem = MutableMapping.popitem
    setdefault = MutableMapping.setdefault
    update = MutableMapping.update

    def pop(self, key: str, *default: Any) -> Any:
        """Take a value out."""
        value = super().get(key, *default) if default else self[key]
        if key in self:
            del self[key]
        return value

    def __ior__(self, other: Any) -> Self:  # type: ignore[override,misc]  # what `update` takes
        self.update(other)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)  # a copy is a dict like any other


class Config(MutableMapping[str, Any]):
    """The run's configuration, by item or attribute; nested dicts read as `config.model.width` too.

    Args:
        values: plain values; whoever changes a dict inside of them is found out by the run, a little later.
        keep: records the values as they are now, and makes plain ones of them.
    """

    def __init__(self, values: dict[str, Any], keep: Callable[[], None], *, report: Report) -> None:
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_keep", keep)
        object.__setattr__(self, "_report", report)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._values[key] = value
        self._keep()

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._keep()

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._values[name]
        except KeyError:
            raise AttributeError(
                f"the config has no {name!r}; it has {', '.join(self._values) or 'nothing yet'}"
            ) from None
        return Branch(Config(value, self._keep, report=self._report)) if type(value) is dict else value

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __repr__(self) -> str:
        return repr(self._values)

    def update(self, *others: Any, allow_val_change: bool | None = None, **values: Any) -> None:
        """Change several values as one record. `allow_val_change` is W&B's; every change is allowed here."""
        try:
            for other in (*others, values):
                self._values.update(names_given(other, "config"))
        except UsageError as error:
            self._report("config", error)
            return
        self._keep()

    def setdefaults(self, values: Any) -> None:
        """Add what is not there yet."""
        try:
            missing = {key: value for key, value in names_given(values, "config").items() if key not in self._values}
        except UsageError as error:
            self._report("config", error)
            return
        self.update(missing)

    def update_locked(self, values: Any, *_: Any, **__: Any) -> None:
        """W&B's, for the parameters of a sweep: nothing is locked here."""
        self.update(values)

    merge_locked = update_locked

    def persist(self) -> None:
        """W&B's: every change is kept at once."""

    def as_dict(self) -> dict[str, Any]:
        """A copy as plain dicts."""
        return {key: _copied(value) for key, value in self._values.items()}


class Summary(MutableMapping[str, Any]):
    """The last value of every key, unless somebody set another by hand.

    It is flat, with `outer.inner` for what was nested; `summary["outer"]` is what lies below that name.

    Args:
        keep: takes the values set by hand as the user changed them, records them, and returns them as plain values.
        prefix: of the keys that are meant, for a nested part.
    """

    def __init__(
        self,
        last: Callable[[], dict[str, Any]],
        by_hand: dict[str, Any],
        *,
        keep: Callable[[dict[str, Any]], dict[str, Any]],
        report: Report,
        prefix: str = "",
    ) -> None:
        object.__setattr__(self, "_last", last)
        object.__setattr__(self, "_by_hand", by_hand)
        object.__setattr__(self, "_keep", keep)
        object.__setattr__(self, "_report", report)
        object.__setattr__(self, "_prefix", prefix)

    def __getitem__(self, key: str) -> Any:
        values, name = self._values(), f"{self._prefix}{key}"
        if name in values:
            return values[name]
        if any(each.startswith(f"{name}.") for each in values):
            last, by_hand, keep = self._last, self._by_hand, self._keep
            return Branch(Summary(last, by_hand, keep=keep, report=self._report, prefix=f"{name}."))
        raise KeyError(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        name = f"{self._prefix}{key}"
        self._replace(
            {each: value for each, value in self._by_hand.items() if each != name and not each.startswith(f"{name}.")}
        )

    def __iter__(self) -> Iterator[str]:
        names = [name.removeprefix(self._prefix) for name in self._values() if name.startswith(self._prefix)]
        return iter(dict.fromkeys(name.partition(".")[0] for name in names) if self._prefix else names)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getattr__(self, name: str) -> Any:
        if name == "_json_dict":  # W&B's
            return dict(self)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the summary has no {name!r} yet") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __repr__(self) -> str:
        return repr(dict(self))

    def update(self, *others: Any, **values: Any) -> None:
        """Set several values as one record."""
        changed = dict(self._by_hand)
        try:
            for other in (*others, values):
                changed |= {f"{self._prefix}{key}": value for key, value in names_given(other, "summary").items()}
        except UsageError as error:
            self._report("summary", error)
            return
        self._replace(changed)

    def _values(self) -> dict[str, Any]:
        return {**self._last(), **self._by_hand}

    def _replace(self, values: dict[str, Any]) -> None:
        kept = self._keep(values)
        self._by_hand.clear()
        self._by_hand.update(kept)


def settle(values: dict[str, Any], plain: Mapping[str, Any]) -> None:
    """Make the values what they were kept as; dicts and lists stay the ones that somebody may hold."""
    for key in [key for key in values if key not in plain]:
        del values[key]
    for key, value in plain.items():
        old = values.get(key)
        if type(value) is dict and type(old) is dict:
            settle(old, value)
        elif type(value) is list and type(old) is list:
            old[:] = value
        else:
            values[key] = value


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if type(value) is list else value
