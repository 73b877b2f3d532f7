"""How Python writes stacks and statements."""

TABLE = r"""
place: a frame of a traceback: the file, the line, the function
    ^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$
        CPython | zoo: imports a module with a mistake |   File "/stage/model.py", line 1
not-own-file: a file that is not the user's own code
    site-packages|dist-packages|/lib/python3|<frozen|<string>|/bin/|^[^/].*\.pyx$
        CPython's tracebacks | zoo: compresses its samples on a full disk | File "/usr/lib/python3.11/gzip.py", line 289
outermost: where a traceback begins that nobody caught; a caught one begins where it was caught
    ^(?:<module>|_run_module_as_main|_bootstrap(?:_inner)?|_main|spawn_main)\Z
        CPython's tracebacks | CPython: Lib/runpy.py | _run_module_as_main
exception-line: the last line of a traceback: the class, the message
    ^(?P<type>[A-Za-z_][\w.<>]*)(?::(?: (?P<message>.*))?)?$
        CPython | zoo: prints frightening text | RuntimeError: CUDA out of memory
exception-named: an exception in one line, as a hook prints it, or a program that caught it
    ^(?:.*[\s\]|:>])?(?P<type>(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)): (?P<message>\S.*)$
        programs | zoo: prints frightening text | RuntimeError: CUDA out of memory
group-member: where a member of a group of exceptions begins
    ^\s+\+[-+]*-+ (?:\d+|\.\.\.) -+$
        CPython from 3.11 on | zoo: collects the errors of its shards and raises all of them
              +-+---------------- 1 ----------------
in-group: a line of a group of exceptions, behind its bar
    ^\s+\| ?(?P<text>.*)$
        CPython from 3.11 on | zoo: handles some errors of a group and not the rest |     |
goes-on: what follows an exception without the program having gone on: more of its message, or another one's
    ^(?:\s|$|Original Traceback|\[\d+\]:|[=-]{8,}|[\w.]+(?:Error|Exception|Warning)\b)
        programs | zoo: prints frightening text | RuntimeError: CUDA out of memory
ends-nothing: what Python prints before a traceback after which the program goes on
    ^(?:Exception in thread |Exception ignored |Task exception was never retrieved|Future exception was never)
        CPython | CPython: Lib/threading.py | Exception in thread Thread-1 (work):
    ^(?:Task was destroyed|future: <|task: <|--- Logging error ---|exception calling callback)
        CPython's asyncio, logging, concurrent.futures | zoo: logs to a full disk, which nobody notices
            --- Logging error ---
logged: what a logger prints before a traceback that somebody caught and handed to it
    \b(?:ERROR|CRITICAL|FATAL)\b|\[(?:error|critical) *\]
        Python's logging, structlog | zoo: logs the errors that it caught | ERROR:root:going on
raised-by-hand: a statement that raises: its words are those of who wrote it
    ^raise\b|^assert\b
        Python programs | zoo: raises what cannot be printed | raise Odd
thread-at-fault: where the stack of a thread begins; that of the thread that faulted is the current one
    (?m)^(?P<current>Current t|T)hread 0x.*:$
        CPython's faulthandler | zoo: prints what Python prints at a fault and leaves with 139
            Current thread 0x00007f (most recent call first):
frame-at-fault: a frame of such a stack: the file, the line, the function
    (?m)^\s+File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)$
        CPython's faulthandler | zoo: prints what Python prints at a fault and leaves with 139
              File "train.py", line 80 in forward
"""
