"""A real object store for tests, SeaweedFS, that speaks S3: in a directory of its own, gone when its test is."""

import contextlib
import itertools
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from tests.postgres import quick_directory

PATIENCE_S = 120.0
IDENTITY = """{"identities": [{"name": "holter", "credentials": [{"accessKey": "holter", "secretKey": "holter-secret"}],
"actions": ["Admin", "Read", "Write", "List"]}]}"""
KEYS = {"AWS_ACCESS_KEY_ID": "holter", "AWS_SECRET_ACCESS_KEY": "holter-secret", "AWS_REGION": "us-east-1"}
"""What a program that uses it must have in its environment."""


class ObjectStore:
    """Owns the process and its directory. It comes up while whoever began it does something else."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="holter-s3-", dir=quick_directory()))
        self._numbers = itertools.count()
        self._is_ready = False
        (self._directory / "keys.json").write_text(IDENTITY)
        self._ports = _free_ports(8)
        self.start()

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._ports[0]}"

    def new_place(self) -> str:
        """A place that nobody has used; waits until the store takes objects."""
        if not self._is_ready:
            self._wait()
        return f"s3://holter-tests/place-{next(self._numbers)}?endpoint={self.endpoint}"

    def kill(self) -> None:
        """What it has acknowledged is in its files."""
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self._is_ready = False

    def close(self) -> None:
        """Leave nothing."""
        self.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def start(self) -> None:
        """Begin to; it takes seconds until it answers."""
        s3, s3_grpc, master, master_grpc, filer, filer_grpc, volume, volume_grpc = self._ports
        options = {
            "dir": self._directory,
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "filer": "true",
            "s3": "true",
            "s3.config": self._directory / "keys.json",
            "s3.port": s3,
            "s3.port.grpc": s3_grpc,
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "s3.localSocket": self._directory / "s3.sock",
            "filer.localSocket": self._directory / "filer.sock",
            "master.telemetry": "false",
            "master.port": master,
            "master.port.grpc": master_grpc,
            "filer.port": filer,
            "filer.port.grpc": filer_grpc,
            "volume.port": volume,
            "volume.port.grpc": volume_grpc,
            "volume.max": 20,
            "master.volumeSizeLimitMB": 256,
        }
        command = [
            "setpriv",
            "--pdeathsig=KILL",
            str(Path(sys.executable).parent / "weed"),
            "-logtostderr=true",
            "server",
            *(f"-{name}={value}" for name, value in options.items()),
        ]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def _wait(self) -> None:
        store = S3Store(
            "holter-tests",
            endpoint=self.endpoint,
            region="us-east-1",
            access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )
        deadline = time.monotonic() + PATIENCE_S
        while not self._is_ready:
            with contextlib.suppress(BaseError):
                obstore.put(store, "is-there", b"x")
                self._is_ready = True
                return
            assert self._process.poll() is None, (self._directory / "log").read_text()
            assert time.monotonic() < deadline, (self._directory / "log").read_text()
            time.sleep(0.2)


def _free_ports(many: int) -> list[int]:
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(many)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
