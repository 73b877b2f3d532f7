"""How Python writes stacks and statements."""

TABLE = r"""
place: a frame of a traceback: the file and the line
    ^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)
        CPython | zoo: imports a module with a mistake |   File "/stage/model.py", line 1
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
