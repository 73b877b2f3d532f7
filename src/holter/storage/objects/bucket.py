"""A part of a bucket: objects by name, and what is said where it can't be reached."""

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import obstore
from obstore import exceptions
from obstore.store import S3Store

from holter.errors import StorageFailing, UsageError

# Whoever asks waits meanwhile, and asks again by himself.
PATIENCE = timedelta(seconds=10)
OPTIONS = ("endpoint", "region")
_REFUSED = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)


class Found(NamedTuple):
    """An object."""

    name: str
    size: int
    changed_s: float


class Bucket:
    """Thread-safe. Each method raises StorageFailing where the store does not answer or refuses.

    Keys are in the environment or where the machine has them from, as for any program that uses S3.
    """

    def __init__(self, url: str) -> None:
        self.shown, self._prefix, named = _split(url)
        self.store = S3Store(
            **named,
            client_options={"allow_http": True, "timeout": PATIENCE, "connect_timeout": timedelta(seconds=5)},
            retry_config={"max_retries": 5, "retry_timeout": PATIENCE},
        )

    def put(self, name: str, data: "bytes | Iterator[bytes]") -> None:
        """Keep an object: all of it or, where the bytes raise, nothing."""
        with self._told():
            obstore.put(self.store, self._prefix + name, data)

    def size(self, name: str) -> int | None:
        """The size of an object, None where there is none."""
        with self._told(), contextlib.suppress(FileNotFoundError):
            return int(obstore.head(self.store, self._prefix + name)["size"])
        return None

    def read(self, name: str, *, start: int = 0, stop: int | None = None) -> bytes:
        """Bytes of an object, not beyond its end. Raises FileNotFoundError."""
        with self._told():
            if stop is None:
                return bytes(obstore.get(self.store, self._prefix + name).bytes())
            return bytes(obstore.get_range(self.store, self._prefix + name, start=start, end=stop))

    def list(self, prefix: str) -> list[Found]:
        """The objects whose names begin so, in order."""
        with self._told():
            found = [each for some in obstore.list(self.store, self._prefix + prefix) for each in some]
        own = len(self._prefix)
        return sorted(Found(each["path"][own:], each["size"], each["last_modified"].timestamp()) for each in found)

    def remove(self, *names: str) -> None:
        """Idempotent."""
        with self._told(), contextlib.suppress(FileNotFoundError):
            if names:
                obstore.delete(self.store, [self._prefix + name for name in names])

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except _REFUSED as error:
            raise StorageFailing(
                f"{self.shown} refuses ({_first_line(error)}): give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of "
                "somebody who may read and write there; nothing is lost"
            ) from error
        except exceptions.BaseError as error:
            raise StorageFailing(f"{self.shown} can't be reached ({_first_line(error)}); nothing is lost") from error


def _split(url: str) -> tuple[str, str, dict[str, Any]]:
    """As it is shown, what each name begins with, and what the store takes. Raises UsageError."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    unknown = options.keys() - OPTIONS
    if not parts.netloc or "@" in parts.netloc or unknown:
        said = f", which may have {' and '.join(OPTIONS)} behind '?'" if unknown else ""
        raise UsageError(f"no bucket in {url.rpartition('@')[2]!r}: write 's3://BUCKET/FOLDER'{said}")
    folder = parts.path.strip("/")
    shown = f"s3://{parts.netloc}/{folder}".rstrip("/")
    return shown, f"{folder}/" if folder else "", {"bucket": parts.netloc} | options


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
