"""Who a process is that sent a signal: read at once, for it may soon be gone."""

from holter.journal.signal_log import read_signal_log
from holter.model.evidence import Sender, Unseen
from holter.probes.postmortem.process_table import read_name
from holter.probes.postmortem.scene import Scene
from holter.probes.procfs import PROC, read_file, read_stat

TURN = 0


def look(pid: int, proc: str = PROC) -> Sender | Unseen:
    """Return its command, its parent's, and its user."""
    stat = read_stat(pid, proc)
    if stat is None:
        return Unseen(because=f"process {pid}, which sent the signal, is gone")
    uid = parse_uid(read_file(f"{proc}/{pid}/status") or b"")
    return Sender(
        pid=pid,
        command=_command(pid, proc),
        parent=_command(stat.parent, proc) if stat.parent else "",
        uid=uid,
        user=user_name(uid) if uid is not None else "",
    )


def at_death(scene: Scene) -> None:
    """Who sent the dead a signal that their own witness saw, and could not say more about."""
    dead = {death.pid for death in scene.unclean}
    for caught in read_signal_log(scene.directory).caught:
        if caught.pid in dead and caught.is_sent and caught.sender_pid > 0 and not caught.sender:
            found = look(caught.sender_pid)
            if not isinstance(found, Unseen):
                scene.say("sender", found, pid=caught.pid)


def parse_uid(status: bytes) -> int | None:
    """Return the real user id in a `/proc/PID/status`."""
    for line in status.splitlines():
        if line.startswith(b"Uid:"):
            return int(line.split()[1])
    return None


def user_name(uid: int) -> str:
    """Return the user's name, empty where the machine has none for the number."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


def _command(pid: int, proc: str) -> str:
    name = (read_file(f"{proc}/{pid}/comm") or b"").decode(errors="replace").strip()
    return read_name(pid, proc) or name
