"""Remedies against what comes from outside: people, schedulers, notebooks, hardware, the network."""

from holter.diagnosis import words
from holter.diagnosis.remedies.particulars import scheduler
from holter.model.evidence import Evidence


def cool(evidence: Evidence) -> str:
    """A hot GPU slows down, then stops."""
    hottest = evidence.gpu.hottest_c if evidence.gpu else None
    now = f" (it reached {hottest:.0f} °C)" if hottest is not None else ""
    return f"cool it{now}: clean the fans, leave room between cards, lower the power limit with nvidia-smi -pl"


def replace_hardware(evidence: Evidence) -> str:
    """Broken hardware breaks the next run, too."""
    del evidence
    return "take the machine out of use and report the fault to whoever runs it: the next run there will fail as well"


def save_before_limit(evidence: Evidence) -> str:
    """A warning from SLURM before it ends the job."""
    if scheduler(evidence) not in ("slurm", ""):
        return "ask the scheduler for a warning signal before the end, and save a checkpoint when it comes"
    return "ask for a warning and save when it comes: #SBATCH --signal=B:USR1@120, and start the program with exec"


def longer_limit(evidence: Evidence) -> str:
    """More time, or less work in one job."""
    del evidence
    return "ask for more time (--time), or split the training into jobs that each continue from a checkpoint"


def requeue(evidence: Evidence) -> str:
    """A preempted job can come back by itself."""
    del evidence
    return "submit with --requeue, so that the job comes back and the run continues as a new attempt"


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


def find_killer(evidence: Evidence) -> str:
    """SIGKILL does not say who sent it."""
    del evidence
    return (
        "find out who ends processes here: a colleague, a script, timeout(1), an IDE, a service manager or its parent"
    )


def handle_sigterm(evidence: Evidence) -> str:
    """A program may save when it is asked to leave."""
    del evidence
    return "save a checkpoint in a SIGTERM handler: a few seconds usually remain before SIGKILL"


def detach_from_terminal(evidence: Evidence) -> str:
    """A terminal takes its programs along."""
    del evidence
    return "start it so that it outlives the terminal: tmux, nohup, or setsid"


def reset_gpu(evidence: Evidence) -> str:
    """A card that is lost needs more than a new run."""
    del evidence
    return "reset the GPU (nvidia-smi --gpu-reset) or reboot, and run dcgmi diag -r 3 before it is used again"


def check_network(evidence: Evidence) -> str:
    """The training itself is not harmed."""
    del evidence
    return "check the network to the server; nothing is lost: holter sync sends what is missing"


def check_host(evidence: Evidence) -> str:
    """Why a machine goes down."""
    del evidence
    return "ask whoever runs the machine why it went down; last -x and journalctl -b -1 tell more"


def check_disk(evidence: Evidence) -> str:
    """A disk that fails once fails again."""
    del evidence
    return "copy what you need elsewhere first; then look at smartctl -a, dmesg, or the state of the network mount"


def check_memory_modules(evidence: Evidence) -> str:
    """Memory that fails once fails again."""
    del evidence
    return "have the memory modules tested (memtest86+, edac-util): results since the first error may be wrong"


def keep_alive_kernel(evidence: Evidence) -> str:
    """A restart takes everything."""
    del evidence
    return "save before restarting the notebook's kernel: a restart ends the running cell"


def watch_it(evidence: Evidence) -> str:
    """What would have told us; nothing for a command that was started so."""
    if evidence.subject.role in ("command", "kernel"):
        return ""
    if evidence.is_notebook:
        return "run holter jupyter install once: the Jupyter server then sees how its notebooks' kernels end"
    return "start it with holter run -- next time: a parent always learns how its child ended"


def run_doctor(evidence: Evidence) -> str:
    """What can't be looked at here."""
    del evidence
    return "run holter doctor: it says what holter can't see on this machine and how to change that"
