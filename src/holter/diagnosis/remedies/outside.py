"""Remedies against what comes from outside: people, schedulers, notebooks, hardware, the network."""

from holter.diagnosis import words
from holter.diagnosis.remedies.particulars import scheduler
from holter.model.evidence import Evidence

REPLACE_HARDWARE = (
    "take the machine out of use and report the fault to whoever runs it: the next run there will fail as well"
)
CHECK_DISK = "copy what you need elsewhere first; then look at smartctl -a, dmesg, or the state of the network mount"
RUN_DOCTOR = "run holter doctor --witnesses: it says what holter can't see on this machine and how to change that"


def cool(evidence: Evidence) -> str:
    """A hot GPU slows down, then stops."""
    now = words.told(" (it reached {:.0f} °C)", evidence.gpu.hottest_c if evidence.gpu else None)
    return f"cool it{now}: clean the fans, leave room between cards, lower the power limit with nvidia-smi -pl"


def save_before_limit(evidence: Evidence) -> str:
    """A warning from SLURM before it ends the job."""
    if scheduler(evidence) not in ("slurm", ""):
        return "ask the scheduler for a warning signal before the end, and save a checkpoint when it comes"
    return "ask for a warning and save when it comes: #SBATCH --signal=B:USR1@120, and start the program with exec"


def resume(evidence: Evidence) -> str:
    """Nothing that was logged is lost."""
    step = evidence.subject.last_step
    where = f" (step {step:,} was the last one logged)" if step is not None else ""
    if evidence.subject.role == "command":  # nothing of ours is inside it
        return f"continue from the last checkpoint with HOLTER_RUN_ID={evidence.run or '…'} holter run -- …"
    if evidence.subject.role == "kernel" and evidence.subject.raised is not None:
        return ""  # it could not start
    if evidence.subject.role == "kernel":
        return "begin the notebook with %load_ext holter: it keeps the cell, its output and its largest variables"
    if evidence.is_notebook and step is None:  # the cells were recorded, and nothing that could go on
        return ""
    run = f'"{evidence.run}"' if evidence.run else "…"
    return f'continue from the last checkpoint with holter.init(id={run}, resume="must"){where}'


def ask_sender(evidence: Evidence) -> str:
    """Who sent it may know why."""
    senders = [each for each in evidence.subject.signals if each.is_sent and each.sender_pid not in (0, each.pid)]
    if not senders:
        return ""
    sender = next((each for each in evidence.senders if each.pid == senders[-1].sender_pid), None)
    name = (sender.command if sender else "") or senders[-1].sender or f"process {senders[-1].sender_pid}"
    return f"ask who ran {words.quote(name, 80)}: it sent the signal"


def watch_it(evidence: Evidence) -> str:
    """What would have told us; nothing for a command that was started so."""
    if evidence.subject.role in ("command", "kernel"):
        return ""
    if evidence.is_notebook:
        return "run holter jupyter install once: the Jupyter server then sees how its notebooks' kernels end"
    return "start it with holter run -- next time: a parent always learns how its child ended"
