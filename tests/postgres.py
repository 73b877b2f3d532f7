"""A real PostgreSQL server for tests: on a socket in a directory of its own, without fsync, gone when its test is."""

import contextlib
import functools
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg

# Nothing survives a power cut here, but all that it does for a killed process is as ever.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "autovacuum_naptime": "10s",
}
PATIENCE_S = 120.0


class PostgresServer:
    """Owns the server's process and its directory."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="holter-pg-", dir=quick_directory()))
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        if os.getuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
        self._run("initdb", "--no-sync", "--auth=trust", "--username=holter", "--encoding=UTF8", "--locale=C")

    @property
    def pid(self) -> int:
        """Of the process whose children serve connections."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Until it takes connections."""
        options = [f"-c{name}={value}" for name, value in SETTINGS.items()]
        command = [*_as_postgres(), _binary("postgres"), *options, f"-k{self.directory}", f"-D{self._data}"]
        log = (self.directory / "log").open("ab")
        with log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self._address("postgres")):
                return
            assert self._process.poll() is None, (self.directory / "log").read_text()
            assert time.monotonic() < deadline, (self.directory / "log").read_text()
            time.sleep(0.05)

    def kill(self) -> None:
        """As a power cut would, but for the disk: at once, with all connections."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(PATIENCE_S)
            self._process = None

    def close(self) -> None:
        """Leave nothing."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def url(self, schema: str) -> str:
        """A place in the one database there is."""
        return f"{self._address('postgres')}&schema={schema}"

    def new_place(self) -> str:
        """A place that nobody has used."""
        return self.url(f"place_{os.getpid()}_{next(self._numbers)}")

    def execute(self, url: str, sql: str) -> None:
        """Do something to what is at a place."""
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"SET search_path TO {url.rpartition('=')[2]}".encode())
            connection.execute(sql.encode())

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _address(self, database: str) -> str:
        return f"postgresql:///{database}?host={quote(str(self.directory), safe='')}&user=holter"

    def _run(self, name: str, *arguments: str) -> None:
        command = [*_as_postgres(), _binary(name), *arguments, f"-D{self._data}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A server for the length of the block."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.close()


def quick_directory() -> str:
    """Where thousands of files cost the least to make and to remove."""
    found = shutil.disk_usage("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
    return "/dev/shm" if found is not None and found.free > 4 << 30 else "/tmp"


@functools.cache
def _binary(name: str) -> str:
    """Debian keeps them off the PATH."""
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    assert found, f"{name} is not installed: scripts/system-packages does it"
    return found


def _as_postgres() -> list[str]:
    """It refuses to run as root, and goes when we do."""
    who = ["--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
    return ["setpriv", "--pdeathsig=QUIT", *who]
