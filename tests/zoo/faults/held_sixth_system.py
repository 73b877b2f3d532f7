"""A sixth edition: what a program may have is used up, in copies, tools, sessions and streams; and native code."""

import signal
from typing import Any

from tests.zoo.fault import Fault, Place
from tests.zoo.faults.held_fresh_exceptions import RAISED, failing, written
from tests.zoo.faults.held_fresh_native import ABORTED, ARITHMETIC, OVERFLOW, SEGMENTATION, built, dying
from tests.zoo.faults.memory import limit

OUT, REFUSED, FULL, SHARED = "cgroup-out-of-memory", "allocation-refused", "disk-full", "shared-memory-full"
FILES, CPU = "too-many-open-files", "cpu-time-limit"
DISK = Place(disks=(("disk", "size=3m"),))


def grown(name: str, body: str, *, mib: int = 250, **more: Any) -> Fault:
    """Linux kills the training itself at the limit of its cgroup."""
    usual = {"cause": OUT, "ends": (-signal.SIGKILL,), "state": "crashed", "place": limit(mib)}
    return written(name, body, **{**usual, **more})


# Answers for ever, and is never told that nobody listens any more.
ENDLESS = """
import http.server
class Stream(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(bytes(100))
        time.sleep(30)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stream)
server.daemon_threads = True
if os.fork() == 0:
    threading.Timer(12, os._exit, (0,)).start()
    server.serve_forever()
"""

LONGJMP = r"""
#include <setjmp.h>
static jmp_buf back;
static void __attribute__((noinline)) remember() { volatile char frame[4000]; frame[0] = setjmp(back); }
extern "C" void work() { remember(); longjmp(back, 1); }
"""

PARSE = '#include <string>\nextern "C" int work() { return std::stoi("auto"); }'

ROOT = """
#include <cfenv>
#include <cmath>
extern "C" int work() {
    feenableexcept(FE_INVALID);
    volatile double variance = -1e-9;
    return std::sqrt(variance) > 1;
}
"""

FAULTS = [
    grown(
        "turns its pictures into doubles",
        """
        import numpy
        begin()
        pictures = numpy.ones((800, 224, 224), dtype="uint8")
        log(mean=float(pictures.astype("float64").mean()))
        """,
    ),
    grown(
        "counts every pair of words",
        """
        import collections
        begin()
        pairs = collections.Counter()
        for number in range(100_000_000):
            pairs[(number % 9973, number)] += 1
            if number % 100_000 == 0:
                log(pairs=len(pairs))
        """,
        mib=180,
    ),
    grown(
        "makes Python objects of a column",
        """
        import pyarrow
        begin()
        log(loss=0.4)
        column = pyarrow.array(range(9_000_000), type=pyarrow.int64())
        print(len(column.to_pylist()))
        """,
        mib=420,
    ),
    grown(
        "finds all matches of an expression at once",
        """
        import re
        begin()
        text = "the cat sat " * 1_500_000
        log(matches=len(re.findall(r"\\w+ \\w", text)))
        """,
        mib=240,
    ),
    failing(
        "counts words with a tool that keeps all of them",
        """
        begin()
        log(loss=0.4)
        count = subprocess.run(["awk", "BEGIN { all = \\"word\\"; while (1) all = all all }"])
        if count.returncode:
            raise RuntimeError("vocabulary could not be counted")
        """,
        cause=OUT,
        place=limit(200),
    ),
    # The child's own error is printed; the training only hears of a code.
    failing(
        "runs a script under a limit of its own, which is refused memory",
        """
        open("embed.py", "w").write("table = bytearray(4 << 30)\\nprint(len(table))\\n")
        begin()
        subprocess.run(["prlimit", "--as=1000000000", sys.executable, "embed.py"], check=True)
        """,
        cause=REFUSED,
    ),
    failing(
        "runs a tool in Perl that says it is out of memory",
        """
        begin()
        log(loss=0.4)
        subprocess.run(["bash", "-c", "ulimit -v 300000; perl -e '$x = \\"x\\" x (900 << 20)'"], check=True)
        """,
        cause=REFUSED,
        also=(RAISED,),
        needs=("perl",),
    ),
    failing(
        "reserves a buffer for the text of the whole web",
        "begin()\nlog(loss=0.4)\nctypes.create_string_buffer(1 << 55)\n",
        cause=REFUSED,
    ),
    failing(
        "keeps its table in /dev/shm, which has no room for it",
        """
        import pandas
        begin()
        log(loss=0.4)
        pandas.DataFrame({"embedding": range(900_000)}).to_csv("/dev/shm/table.csv")
        """,
        cause=SHARED,
        also=(FULL,),
        place=Place(disks=(("/dev/shm", "size=2m"),)),
    ),
    # Of many files some could be copied; the error is a list of those that could not.
    failing(
        "copies a tree of files to a disk that cannot take all",
        """
        import shutil
        os.mkdir("samples")
        for number in range(12):
            open(f"samples/{number}.npy", "wb").write(bytes(500_000))
        begin()
        shutil.copytree("samples", "disk/samples")
        """,
        cause=FULL,
        place=DISK,
    ),
    failing(
        "has a shell write its list of files to a full disk",
        """
        os.posix_fallocate(os.open("disk/old.ckpt", os.O_CREAT | os.O_WRONLY), 0, 3 << 20)
        begin()
        subprocess.run(["bash", "-ec", "for n in {1..2000}; do echo shard-$n.tar; done > disk/files.txt"], check=True)
        """,
        cause=FULL,
        place=DISK,
    ),
    # Nobody looked at how much was written; what fails is the reading of it.
    failing(
        "does not see that only a part was written and reads it again",
        """
        import pickle
        begin()
        packed = pickle.dumps(list(range(2_000_000)))
        store = os.open("disk/index.pkl", os.O_CREAT | os.O_RDWR)
        os.write(store, packed)
        os.lseek(store, 0, os.SEEK_SET)
        log(size=len(pickle.load(os.fdopen(store, "rb"))))
        """,
        cause=FULL,
        also=(RAISED,),
        place=DISK,
    ),
    # All that it printed is lost when it leaves, for which Python has a code of its own.
    failing(
        "prints its last results to a device that takes none",
        """
        begin()
        log(loss=0.4)
        sys.stdout.flush()
        sys.stdout = open("/dev/full", "w")
        print("accuracy 0.91, saved as best.ckpt", end="")
        """,
        cause=FULL,
        also=("nonzero-exit",),
        code=120,
    ),
    failing(
        "streams from a server without ever closing an answer",
        ENDLESS
        + """
import requests
begin()
kept = []
for number in range(300):
    kept.append(requests.get(f"http://127.0.0.1:{server.server_port}/{number}", stream=True))
    log(opened=number)
""",
        cause=FILES,
        place=Place(limits=("--nofile=140",)),
    ),
    failing(
        "keeps its batches in files without a place",
        "begin()\nkept = [os.memfd_create(f'batch-{number}') for number in range(500)]\n",
        cause=FILES,
        place=Place(limits=("--nofile=180",)),
    ),
    # Two threads use up twice as much of it.
    written(
        "hashes with all its threads until its CPU time is over",
        """
        import hashlib
        begin()
        def work():
            while True:
                hashlib.pbkdf2_hmac("sha256", b"tokens", b"salt", 100_000)
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(60)
        """,
        cause=CPU,
        ends=(-signal.SIGXCPU,),
        state="crashed",
        place=Place(limits=("--cpu=3:100",)),
    ),
    dying(
        "runs code that another version of Python compiled",
        """
        begin()
        log(loss=0.4)
        code = (lambda: 0).__code__
        exec(code.replace(co_code=bytes([151, 0] + [100, 200] * 8 + [83, 0]), co_consts=(), co_stacksize=20))
        """,
        number=signal.SIGSEGV,
        cause=SEGMENTATION,
        needs=("python3.11",),
    ),
    dying(
        "sorts by a key that sorts",
        """
        def rank(depth):
            return sorted([depth], key=lambda value: rank(value + 1))
        sys.setrecursionlimit(1 << 30)
        begin()
        rank(0)
        """,
        number=signal.SIGSEGV,
        cause=OVERFLOW,
        needs=("python3.11",),
    ),
    built(
        "jumps back into a function that has returned",
        LONGJMP,
        options=["-O2", "-D_FORTIFY_SOURCE=2"],
        number=signal.SIGABRT,
        cause=ABORTED,
    ),
    built("reads a word in C++ as if it were a count", PARSE, number=signal.SIGABRT, cause=ABORTED),
    built("takes the root of a negative variance, which traps", ROOT, number=signal.SIGFPE, cause=ARITHMETIC),
]
