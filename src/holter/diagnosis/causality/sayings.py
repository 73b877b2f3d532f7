"""What programs and libraries say of other processes, of what was printed before, and of how they ended."""

import re

PEER_LOST = re.compile(
    r"Connection closed by peer|remote process exited|Connection reset by peer|[Bb]roken pipe|caused by a remote worker"
    r"|Connection refused|recvValue failed|failed to recv, got 0 bytes|Socket closed|NCCL communicator was aborted"
    r"|TCPStore.*(?:closed|failed|recv|send)|DistNetworkError|Gloo connectFullMesh failed",
)
"""Of a process that lost a partner; who says so did not die first."""
CHILD_LOST = re.compile(
    r"DataLoader worker .*(?:exited unexpectedly|is killed by signal)|BrokenProcessPool|BrokenExecutor"
    r"|terminated abruptly|ProcessExitedException|process \d+ terminated with (?:signal|exit code)"
    r"|CalledProcessError: .*died with|ChildFailedError|WorkerDiedError|TerminatedWorkerError|WorkerCrashedError"
    r"|ActorDiedError|[Aa] worker (?:process )?.*(?:died|was killed|stopped unexpectedly)",
)
"""Of a process that lost a child."""
COLLECTIVE_TIMEOUT = re.compile(
    r"collective operation timeout|Timed out waiting \d+ ?ms for (?:recv|send)|monitoredBarrier"
    r"|Timeout.*(?:all_?reduce|all_?gather|barrier|broadcast|reduce_scatter)|wait timeout after \d+ ?ms"
    r"|Timed out after \d+ ?ms waiting for|DistStoreError: .*[Tt]imed? ?out|Socket Timeout",
    re.IGNORECASE,
)
"""Of a rank that waited for another in vain; who says so is the victim."""
ENQUEUED = re.compile(r"Rank (\d+)\].*last enqueued (?:NCCL )?work: (\d+)")
PIPE_ERROR = re.compile(r"^(?:EOFError|ConnectionResetError|BrokenPipeError|ConnectionAbortedError)\b", re.MULTILINE)
CHILD_SIGNAL = re.compile(
    r"died with <Signals\.\w+: (?P<number>\d+)>|is killed by signal: (?P<words>[A-Z][\w ]+)"
    r"|terminated with signal (?P<name>SIG\w+)"
)
CHILD_COMMAND = re.compile(r"Command '(.+)' died with")
PIDS = re.compile(r"pid(?:\(s\))?[ =:]*(\d+(?:, \d+)*)")
NUMBER = re.compile(r"(?<![\w.-])\d{1,3}\b")
NEGATIVE = re.compile(r"(?<![\w.-])-\d{1,2}\b(?!\.\d)")
EXIT_CODE = re.compile(r"(?:exit\w*|return\w*|code|status|left|ended)\b\D{0,12}?(-?\d{1,3})\b", re.IGNORECASE)
OF_A_CHILD = re.compile(
    r"(?:worker|child|process|subprocess|rank|job)\S* .*"
    r"(?:died|dead|failed|crashed|killed|terminated|aborted|gone|lost|exited|left|missing|vanished|disappeared)",
    re.IGNORECASE,
)
OF_AN_EXIT = re.compile(
    r"exit ?codes?|exit(?:ed)? (?:status|with)|returncode|return(?:ed)? code|non-zero exit|(?<![\w-])-\d{1,2}\b"
    rf"|{OF_A_CHILD.pattern}",
    re.IGNORECASE,
)
SRUN_TASK = re.compile(r"^srun: error: \S+: tasks? (?P<task>\d+)[\d,-]*: (?P<how>.+?)(?: \(core dumped\))?$")
SRUN_CODE = re.compile(r"Exited with exit code (\d+)")
RANK_PREFIX = re.compile(r"^\[(?:rank|default)(?P<rank>\d+)\]: ?(?P<text>.*)$")
FAILED_RANK = re.compile(r"rank\s+: (?P<rank>\d+) \(local_rank: \d+\)\s+exitcode\s+: -?\d+ \(pid: (?P<pid>\d+)\)")
OF_A_WRAPPER = re.compile(r"^g?make(?:\[\d+\])?: \*\*\* |^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ ")
"""What `make` says of a command, and what the logger of a launcher writes."""
CONTINUES = re.compile(r"^(?:\s|$|Original Traceback|\[\d+\]:|[=-]{8,}|[\w.]+(?:Error|Exception|Warning)\b)")
"""What may follow an exception without the program having gone on: more of its message, or another one's."""
NAMED_ERROR = re.compile(r"^(?:.*[\s\]|:>])?(?P<type>(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)): (?P<message>\S.*)$")
"""An exception in one line, as a hook prints it in place of the traceback, or a program that caught it."""
ENDS_NOTHING = re.compile(
    r"^(?:Exception in thread |Exception ignored |Task exception was never retrieved|Future exception was never"
    r"|Task was destroyed|future: <|task: <|--- Logging error ---|exception calling callback)"
)
"""What Python prints before a traceback after which the program goes on."""
LOGGED = re.compile(r"\b(?:ERROR|CRITICAL|FATAL)\b|\[(?:error|critical) *\]")
"""What a logger prints before a traceback that somebody caught and handed to it."""
PLACE = re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
EXCEPTION = re.compile(r"^(?P<type>[A-Za-z_][\w.<>]*)(?::(?: (?P<message>.*))?)?$")
GROUP_MEMBER = re.compile(r"^\s+\+[-+]*-+ (?:\d+|\.\.\.) -+$")
IN_GROUP = re.compile(r"^\s+\| ?")
OUTERMOST = re.compile(r"<module>|_run_module_as_main|_bootstrap(?:_inner)?|_main|spawn_main")
"""Where a traceback begins that nobody caught; a caught one begins where it was caught."""
