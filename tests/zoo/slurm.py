"""A real SLURM of one node, with everything that it writes in a directory of its own. Needs root."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from tests.zoo.cgroups import IS_UNIFIED

# As it was at the start: pytest changes it while the lanes of a run read it.
AROUND = dict(os.environ)
COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "scancel", "srun")
STARTED_WITHIN_S = 90.0
MEMORY_MB = 4000

CONFIGURATION = """
ClusterName=zoo
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
SlurmdParameters=config_overrides
GresTypes=slot
AuthType=auth/munge
AuthInfo=socket={base}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/slurmd.pid
SlurmctldLogFile={base}/slurmctld.log
SlurmdLogFile={base}/slurmd.log
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=5
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MpiDefault=none
ReturnToService=2
KillWait=5
MinJobAge=600
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory={memory} Gres=slot:1 State=UNKNOWN
PartitionName=low Nodes={host} Default=YES MaxTime=60 PriorityTier=1 PreemptMode=REQUEUE GraceTime=3
PartitionName=high Nodes={host} MaxTime=60 PriorityTier=10 PreemptMode=OFF
"""

CGROUPS = """
CgroupPlugin=cgroup/{version}
CgroupMountpoint=/sys/fs/cgroup
ConstrainRAMSpace=yes
ConstrainSwapSpace=yes
AllowedSwapSpace=0
"""


def missing() -> str:
    """Why there can be no cluster here; empty where there can."""
    if IS_UNIFIED:
        return "not on this platform: SLURM 22.05 needs the memory controller of cgroup v1, or systemd"
    absent = [name for name in COMMANDS if shutil.which(name) is None]
    return f"no {absent[0]}" if absent else ""


class Cluster:
    """Started by `start`, ended by `stop`, which only ends what `start` began."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._started: list[subprocess.Popen[bytes]] = []
        self.host = socket.gethostname().partition(".")[0]

    @property
    def environ(self) -> dict[str, str]:
        """What the commands of SLURM need to find it."""
        return {"SLURM_CONF": str(self._base / "slurm.conf")}

    def start(self) -> None:
        """Blocks until the node is ready for jobs. Raises TimeoutError."""
        for name in ("state", "spool"):
            (self._base / name).mkdir(parents=True, exist_ok=True)
        ports = _free_ports(2)
        (self._base / "slurm.conf").write_text(
            CONFIGURATION.format(
                base=self._base, host=self.host, controller_port=ports[0], node_port=ports[1], memory=MEMORY_MB
            )
        )
        (self._base / "cgroup.conf").write_text(CGROUPS.format(version="v2" if IS_UNIFIED else "v1"))
        (self._base / "gres.conf").write_text("Name=slot Count=1\n")
        self._start_munge()
        self._start("slurmctld", "-D", "-c")
        self._start("slurmd", "-D", "-c")
        self._await_node()

    def stop(self) -> None:
        """Cancel all jobs, then end the daemons."""
        with contextlib.suppress(subprocess.SubprocessError, OSError):
            jobs = self.command("squeue", "-h", "-o", "%A").split()
            if jobs:
                self.command("scancel", *jobs)
                time.sleep(2)
        for process in reversed(self._started):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def command(self, *words: str) -> str:
        """Run one of SLURM's commands. Raises CalledProcessError."""
        done = subprocess.run(
            words, env={**AROUND, **self.environ}, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    def job(self, number: str) -> dict[str, str]:
        """What scontrol says about a job."""
        words = self.command("scontrol", "show", "job", "-o", number).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def _start_munge(self) -> None:
        key = self._base / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        owner = pwd.getpwnam("root")
        os.chown(key, owner.pw_uid, owner.pw_gid)
        self._start(
            "munged",
            "--foreground",
            "--force",
            f"--socket={self._base}/munge.socket",
            f"--key-file={key}",
            f"--pid-file={self._base}/munged.pid",
            f"--seed-file={self._base}/munged.seed",
            f"--log-file={self._base}/munged.log",
        )
        deadline = time.monotonic() + STARTED_WITHIN_S
        while not (self._base / "munge.socket").exists():
            if time.monotonic() > deadline:
                raise TimeoutError("munged did not start")
            time.sleep(0.05)

    def _start(self, *words: str) -> None:
        log = (self._base / f"{words[0]}.out").open("wb")
        self._started.append(
            subprocess.Popen(words, env={**AROUND, **self.environ}, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        )
        log.close()

    def _await_node(self) -> None:
        deadline = time.monotonic() + STARTED_WITHIN_S
        while time.monotonic() < deadline:
            with contextlib.suppress(subprocess.CalledProcessError):
                if self.command("sinfo", "-h", "-o", "%t", "-p", "low").strip() == "idle":
                    return
            time.sleep(0.2)
        raise TimeoutError(f"no node after {STARTED_WITHIN_S} s: {self._words()}")

    def _words(self) -> str:
        logs = [*self._base.glob("*.out"), *self._base.glob("*.log")]
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-1500:]}" for path in logs)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]
