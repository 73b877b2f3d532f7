"""Forty-odd small programs that must not notice whether `holter run` started them."""

import sys
import textwrap

Command = list[str]


def python(source: str) -> Command:
    return [sys.executable, "-c", textwrap.dedent(source)]


def bash(script: str) -> Command:
    return ["bash", "-c", textwrap.dedent(script)]


COMMANDS: dict[str, Command] = {
    "is silent": python("pass"),
    "prints": python("print('out')"),
    "prints on stderr": python("import sys; print('err', file=sys.stderr)"),
    "prints on both in turn": python(
        """
        import sys
        for i in range(20):
            print('out', i, flush=True); print('err', i, file=sys.stderr, flush=True)
        """
    ),
    "leaves a line unfinished": python("print('no newline', end='')"),
    "exits with a code": python("import sys; sys.exit(7)"),
    "exits with 255": bash("exit 255"),
    "exits with a text": python("import sys; sys.exit('text')"),
    "raises": python("def f():\n    raise KeyError('x')\nf()"),
    "leaves without flushing": python("import os; print('lost', end=''); os._exit(9)"),
    "writes below Python": python(
        "import os; os.write(1, b'one\\n'); os.write(2, b'two\\n'); os.write(1, b'three\\n')"
    ),
    "prints from C": python(
        "import ctypes; c = ctypes.CDLL(None); c.puts(b'from C'); c.printf(b'%d lines\\n', 2); c.fflush(None)"
    ),
    "has a child that prints": python("import subprocess; subprocess.run(['echo', 'child']); print('parent')"),
    "asks the shell": python("import os; print(os.system('echo shell; exit 3') >> 8)"),
    "has grandchildren": bash("bash -c 'bash -c \"echo deep; exit 4\"; echo $?; exit 5'; echo $?"),
    "leaves a child behind": bash("(sleep 0.3; echo late) & echo early"),
    "pipes by itself": bash("seq 1000 | sort -rn | head -3; echo ${PIPESTATUS[@]}"),
    "prints much": python("import sys; sys.stdout.write('0123456789abcde\\n' * 65536)"),
    "prints every byte": python(
        "import sys; sys.stdout.buffer.write(bytes(b for b in range(256) if b not in b'\\x11\\x13') * 40)"
    ),
    "prints no text": python("import os; os.write(1, b'\\xff\\xfe\\xff\\n\\xc3')"),
    "prints colours": bash(r"printf '\e[31mred\e[0m \e[1;4mbold\e[0m\n\e]0;title\a'"),
    "has a progress bar": bash(r"for i in 1 2 3; do printf '\r%d%%' $i; done; echo"),
    "uses tqdm": python(
        "from tqdm import tqdm\nfor i in tqdm(range(5), mininterval=0, bar_format='{n}/{total}'): pass"
    ),
    "asks for its terminal": python("import os; print([os.isatty(fd) for fd in (0, 1, 2)])"),
    "asks for the size": python(
        """
        import os, shutil
        for fd in (0, 1, 2):
            try: print(os.get_terminal_size(fd))
            except OSError as error: print(error)
        print(shutil.get_terminal_size())
        """
    ),
    "reads what is typed": bash("read line; echo got $line; read line; echo $?"),
    "copies its input": bash("cat; echo end"),
    "kills itself": bash("kill -9 $$"),
    "terminates itself": python("import os; print('x', flush=True); os.kill(os.getpid(), 15)"),
    "interrupts itself": python("import os, time; os.kill(os.getpid(), 2); time.sleep(5)"),
    "hangs itself up": bash("kill -HUP $$; sleep 5"),
    "faults": python("import ctypes, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); ctypes.string_at(0)"),
    "aborts": python("import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.abort()"),
    "is killed by a pipe": python(
        "import os, signal; signal.signal(13, signal.SIG_DFL); r, w = os.pipe(); os.close(r); os.write(w, b'x')"
    ),
    "handles its own signal": bash("trap 'echo caught; exit 3' TERM; kill -TERM $$; sleep 5"),
    "signals its whole group": bash("trap 'echo once' TERM; setsid -w bash -c 'trap \"\" TERM; kill -TERM 0'; echo on"),
    "asks for what there is not": bash("no-such-command-anywhere; echo $?"),
    "shows its arguments": ["printf", "<%s>\n", "a b", "", "--name", "-n", "*", "$HOME", "é"],
    "shows where it is": bash("pwd; umask"),
    # Without 32 and 33, which belong to the C library.
    "shows which signals it ignores": bash(
        "while read name mask; do case $name in SigBlk:|SigIgn:) echo $((0x$mask & 0x7fffffff));; esac; done"
        " < /proc/self/status"
    ),
    "shows what it has open": bash("ls /proc/self/fd | wc -l"),
    "shows its limits": bash("ulimit -a"),
    "shows its place": python(
        "import os; print(os.getpgrp() == os.getpgid(os.getppid()), os.getsid(0) == os.getsid(os.getppid()))"
    ),
    "prints from threads": python(
        """
        import threading
        def work(): print('thread', end='\\n', flush=True)
        for _ in range(8):
            thread = threading.Thread(target=work); thread.start(); thread.join()
        """
    ),
    "prints from a forked child": python(
        "import os\nif os.fork() == 0:\n    print('child', flush=True); os._exit(3)\nprint(os.wait()[1] >> 8)"
    ),
    "logs": python("import logging; logging.basicConfig(level='INFO', format='%(message)s'); logging.info('logged')"),
    "prints at its end": python("import atexit; atexit.register(print, 'bye'); print('hi')"),
    "closes its output": python(
        "import os, time; os.write(1, b'before\\n'); os.close(1); time.sleep(0.1); os._exit(2)"
    ),
    "redirects itself": bash("exec 3>&1 >/dev/null; echo nowhere; echo somewhere >&3"),
    "becomes another": bash("echo before; exec echo after"),
    "waits for all children": python(
        """
        import os
        if os.fork() == 0: os._exit(3)
        while True:
            try: print(os.wait()[1])
            except ChildProcessError: break
        """
    ),
}
