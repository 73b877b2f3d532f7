"""Two nodes of ClickHouse 18.16, as Debian 12 has it, with their ZooKeeper: real servers that can be killed.

It is eight years old; what it is asked in other words than a current one is in `old_words.py`.
"""

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.request import urlopen

from tests.postgres import quick_directory

PATIENCE_S = 120.0
NAME = "holter"
_NODE = """<yandex>
<logger><level>warning</level><log>{path}/log</log><errorlog>{path}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>{http}</http_port><tcp_port>{tcp}</tcp_port>
<interserver_http_port>{between}</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
<path>{path}/data/</path><tmp_path>{path}/tmp/</tmp_path><users_config>{path}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size>
<zookeeper><node><host>127.0.0.1</host><port>{keeper}</port></node><session_timeout_ms>10000</session_timeout_ms></zookeeper>
<macros><shard>{shard}</shard><replica>{replica}</replica></macros>
<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
<remote_servers><holter>{shards}</holter></remote_servers>
</yandex>"""
_USERS = """<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></default></users><quotas><default></default></quotas></yandex>"""


class Cluster:
    """Owns three processes and their directory.

    Args:
        shards: 1 where the nodes have the same rows, 2 where each has other ones.
    """

    def __init__(self, shards: int) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="holter-ch18-", dir=quick_directory()))
        self._numbers = itertools.count()
        self._keeper = free_port()
        self._ports = [(free_port(), free_port(), free_port()) for _ in range(2)]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        nodes = [f"<replica><host>127.0.0.1</host><port>{tcp}</port></replica>" for _, tcp, _ in self._ports]
        groups = ["".join(nodes)] if shards == 1 else nodes
        layout = "".join(f"<shard><internal_replication>true</internal_replication>{group}</shard>" for group in groups)
        for number, (http, tcp, between) in enumerate(self._ports):
            path = self.directory / f"node{number}"
            path.mkdir()
            (path / "users.xml").write_text(_USERS)
            names = {"shard": 0 if shards == 1 else number, "replica": number, "keeper": self._keeper}
            config = _NODE.format(path=path, http=http, tcp=tcp, between=between, shards=layout, **names)
            (path / "config.xml").write_text(config)

    def start(self) -> None:
        """Until both nodes take questions."""
        config = self.directory / "zoo.cfg"
        config.write_text(
            f"tickTime=2000\ndataDir={self.directory / 'keeper'}\nclientPort={self._keeper}\n"
            "clientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
        )
        jars = "/usr/share/java/zookeeper.jar:/etc/zookeeper/conf"
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self._begin("keeper", ["java", "-Xmx192m", "-cp", jars, main, str(config)])
        self._await("keeper", self._ask_keeper)
        for number in range(2):
            self.begin(number)
        for number in range(2):
            self.await_node(number)

    def begin(self, number: int) -> None:
        """Begin a node that does not run."""
        binary = shutil.which("clickhouse-server", path="/usr/bin:/usr/sbin")
        assert binary, "clickhouse-server is not installed: make test-scale does it on Debian 12"
        path = self.directory / f"node{number}"
        self._begin(f"node{number}", [binary, f"--config-file={path / 'config.xml'}"])

    def await_node(self, number: int) -> None:
        """Until it takes questions."""
        self._await(f"node{number}", lambda: urlopen(f"http://127.0.0.1:{self._ports[number][0]}/ping").close())

    def kill(self, number: int) -> None:
        """A node, at once."""
        process = self._processes.pop(f"node{number}")
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)

    def new_place(self, options: Sequence[str] = ()) -> str:
        """A place on the cluster that nobody has used; both nodes are asked."""
        hosts = ",".join(f"127.0.0.1:{http}" for http, _, _ in self._ports)
        more = "".join(f"&{each}" for each in options)
        return f"clickhouse18://{hosts}/place_{os.getpid()}_{next(self._numbers)}?cluster={NAME}{more}"

    def ask(self, number: int, sql: str) -> str:
        """A node itself."""
        with urlopen(f"http://127.0.0.1:{self._ports[number][0]}/", sql.encode()) as answer:
            said: bytes = answer.read()
            return said.decode()

    def are_alike(self, table: str) -> bool:
        """Whether each of the replicas has all rows of a table by itself."""
        counts = {self.ask(number, f"SELECT count() FROM {table}") for number in range(2)}
        return len(counts) == 1

    def close(self) -> None:
        """Leave nothing."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait(PATIENCE_S)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _ask_keeper(self) -> None:
        """It takes connections before it serves."""
        with socket.create_connection(("127.0.0.1", self._keeper), timeout=PATIENCE_S) as keeper:
            keeper.sendall(b"srvr")
            if b"Mode:" not in keeper.recv(4096):
                raise ConnectionError

    def _await(self, name: str, ask: Callable[[], None]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(OSError):
                ask()
                return
            said = (self.directory / f"{name}.out").read_text(errors="replace")[-3000:]
            assert self._processes[name].poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.1)

    def _begin(self, name: str, command: list[str]) -> None:
        with (self.directory / f"{name}.out").open("ab") as out:
            begun = ["setpriv", "--pdeathsig=KILL", *command]
            self._processes[name] = subprocess.Popen(begun, stdout=out, stderr=out, stdin=subprocess.DEVNULL)


@contextlib.contextmanager
def running_cluster(shards: int) -> Iterator[Cluster]:
    """A cluster for the length of the block."""
    cluster = Cluster(shards)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


def free_port() -> int:
    """One that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        number: int = found.getsockname()[1]
        return number
