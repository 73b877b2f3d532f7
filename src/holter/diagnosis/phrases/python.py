"""How Python writes stacks and statements."""

TABLE = r"""
place: a frame of a traceback: the file, the line, the function
    ^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$  # CPython
not-own-file: a file that is not the user's own code
    site-packages|dist-packages|/lib/python3|<frozen|<string>|/bin/|^[^/].*\.pyx$  # CPython's tracebacks
outermost: where a traceback begins that nobody caught; a caught one begins where it was caught
    ^(?:<module>|_run_module_as_main|_bootstrap(?:_inner)?|_main|spawn_main)\Z  # CPython's tracebacks
exception-line: the last line of a traceback: the class, the message
    ^(?P<type>[A-Za-z_][\w.<>]*)(?::(?: (?P<message>.*))?)?$  # CPython
exception-named: an exception in one line, as a hook prints it, or a program that caught it
    ^(?:.*[\s\]|:>])?(?P<type>(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)): (?P<message>\S.*)$  # programs
group-member: where a member of a group of exceptions begins
    ^\s+\+[-+]*-+ (?:\d+|\.\.\.) -+$  # CPython from 3.11 on
in-group: a line of a group of exceptions, behind its bar
    ^\s+\| ?(?P<text>.*)$  # CPython from 3.11 on
goes-on: what follows an exception without the program having gone on: more of its message, or another one's
    ^(?:\s|$|Original Traceback|\[\d+\]:|[=-]{8,}|[\w.]+(?:Error|Exception|Warning)\b)  # programs
ends-nothing: what Python prints before a traceback after which the program goes on
    ^(?:Exception in thread |Exception ignored |Task exception was never retrieved|Future exception was never)
        # CPython
    ^(?:Task was destroyed|future: <|task: <|--- Logging error ---|exception calling callback)
        # CPython's asyncio, logging, concurrent.futures
logged: what a logger prints before a traceback that somebody caught and handed to it
    \b(?:ERROR|CRITICAL|FATAL)\b|\[(?:error|critical) *\]  # Python's logging, structlog
raised-by-hand: a statement that raises: its words are those of who wrote it
    ^raise\b|^assert\b  # Python programs
thread-at-fault: where the stack of a thread begins; that of the thread that faulted is the current one
    (?m)^(?P<current>Current t|T)hread 0x.*:$  # CPython's faulthandler
frame-at-fault: a frame of such a stack: the file, the line, the function
    (?m)^\s+File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)$  # CPython's faulthandler
"""
