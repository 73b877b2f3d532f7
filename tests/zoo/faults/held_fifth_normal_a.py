"""Ends that nobody needs to explain, of programs that got over errors, refusals, losses and the words of others."""

from tests.zoo.fault import PYTHON, SCRIPT, Place
from tests.zoo.faults.held_fresh_exceptions import TORCH
from tests.zoo.faults.held_fresh_normal import normal
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.memory import limit

STEPS = "for step in range(20):\n    log(loss=1 / (step + 1)); time.sleep(0.02)\n"

# It learns to tell one failure from another.
SAMPLES = [
    "Traceback (most recent call last):\\n  File 'train.py', line 3\\nMemoryError",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
    "Segmentation fault (core dumped)",
    "OSError: [Errno 28] No space left on device",
    "slurmstepd: error: *** JOB 4711 ON node3 CANCELLED AT 2026-03-01T02:11:09 DUE TO TIME LIMIT ***",
    "Killed",
]

FAULTS = [
    normal(
        "learns from the last words of others",
        f"begin()\nfor step in range(30):\n    print({SAMPLES!r}[step % 6])\n    log(loss=1 / (step + 1))\n",
    ),
    normal(
        "shows an error in full and leaves with 0",
        """
        begin()
        try:
            for step in range(20):
                log(loss=1 / (step + 1))
            raise RuntimeError("validation set is empty")
        except RuntimeError:
            traceback.print_exc()
            sys.exit(0)
        """,
    ),
    normal(
        "looks for a batch that fits until none does",
        """
        import resource
        begin()
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + (700 << 20), resource.RLIM_INFINITY))
        size = 16 << 20
        try:
            while True:
                bytearray(size)
                print(f"batch of {size >> 20} MiB fits", flush=True)
                size *= 2
        except MemoryError:
            print("MemoryError: batch size is", size // 2)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        for step in range(20):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        """,
    ),
    normal(
        "goes back to an older checkpoint because the last one is broken",
        """
        import pickle
        for number in range(3):
            pickle.dump({"step": number}, open(f"{number}.ckpt", "wb"))
        os.truncate("2.ckpt", 5)
        begin()
        for number in (2, 1, 0):
            try:
                state = pickle.load(open(f"{number}.ckpt", "rb"))
                break
            except Exception:
                logging.exception("checkpoint %d is corrupt, trying the one before", number)
        for step in range(state["step"], 20):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        """,
    ),
    normal(
        "asks a hub again and again until it answers",
        """
        import http.server, requests, tenacity
        answers = iter([429, 503, 500, 200])
        class Hub(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(next(answers))
                self.end_headers()
            def log_message(self, *_):
                pass
        hub = http.server.HTTPServer(("127.0.0.1", 0), Hub)
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        def report(state):
            logging.error(state.outcome.exception())
        @tenacity.retry(wait=tenacity.wait_fixed(0.1), before_sleep=report)
        def fetch():
            requests.get(f"http://127.0.0.1:{hub.server_port}/tokenizer.json").raise_for_status()
        begin()
        fetch()
        log(loss=0.5)
        """,
    ),
    normal(
        "writes lines to its log that its log cannot format",
        """
        begin()
        for step in range(20):
            logging.error("step %d of %d", step)
            log(loss=1 / (step + 1)); time.sleep(0.02)
        """,
    ),
    normal(
        "leaves shared memory behind",
        """
        from multiprocessing import shared_memory
        begin()
        block = shared_memory.SharedMemory(create=True, size=1 << 20)
        block.buf[:4] = b"done"
        log(loss=0.5)
        """,
        place=Place(disks=(("/dev/shm", "size=16m"),)),
    ),
    normal(
        "has a thread that fails when its main part is over",
        """
        def upload():
            time.sleep(0.6)
            raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        begin()
        threading.Thread(target=upload).start()
        log(loss=0.5)
        """,
    ),
    normal(
        "has a thread that leaves with 0 for all",
        """
        def watch():
            time.sleep(0.6)
            print("target accuracy reached, stopping all threads", flush=True)
            os._exit(0)
        begin()
        threading.Thread(target=watch, daemon=True).start()
        while True:
            log(loss=0.5); time.sleep(0.02)
        """,
    ),
    normal(
        "has a fork that fails with a traceback of the same program",
        """
        begin()
        pid = os.fork()
        if pid == 0:
            raise ValueError("snapshot writer: step 3 has no weights")
        print("snapshot writer left with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        for step in range(40):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        """,
    ),
    normal(
        "recurses too deep, and does it in a loop then",
        """
        def depth(tree):
            return 1 + max([depth(child) for child in tree], default=0)
        begin()
        tree = []
        for _ in range(5000):
            tree = [tree]
        try:
            print(depth(tree))
        except RecursionError as error:
            print("RecursionError:", error, file=sys.stderr)
        levels = 0
        while tree:
            tree, levels = tree[0], levels + 1
        log(levels=levels)
        """,
    ),
    normal(
        "ends with a loss that exploded",
        "begin()\nfor step in range(60):\n    log(loss=10.0 ** min(step, 37), grad_norm=math.inf); time.sleep(0.01)\n",
    ),
    normal(
        "stands still for some seconds and goes on",
        "begin()\n" + STEPS + "time.sleep(5)\n" + STEPS,
    ),
    normal(
        "runs a pipeline whose first part nobody reads to its end",
        """
        begin()
        first = subprocess.run("yes sample | head -3", shell=True, capture_output=True, text=True).stdout
        producer = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
        producer.stdout.readline()
        producer.stdout.close()
        print("producer left with", producer.wait())
        log(lines=len(first.splitlines()))
        """,
    ),
    normal(
        "gives its evaluation a second and does without it",
        """
        begin()
        print("timeout left with", subprocess.run(["timeout", "1", "sleep", "20"]).returncode, flush=True)
        try:
            subprocess.run(["sleep", "20"], timeout=0.5)
        except subprocess.TimeoutExpired:
            logging.exception("evaluation took too long")
        log(loss=0.5)
        """,
    ),
    normal(
        "is told by torch that its GPU cannot be used, and takes the CPU",
        """
        import warnings, torch
        begin()
        warnings.warn("CUDA initialization: Unexpected error from cudaGetDeviceCount(). Did you run some cuda "
                      "functions before calling NumCudaDevices() that might have already set an error? Error 804: "
                      "forward compatibility was attempted on non supported HW")
        try:
            torch.zeros(1).cuda()
        except AssertionError as error:
            print("RuntimeError: No CUDA GPUs are available:", error, file=sys.stderr)
        for step in range(10):
            log(loss=torch.rand(4).mean().item())
        """,
        needs=TORCH,
    ),
    normal(
        "skips the samples that its workers cannot decode",
        """
        import torch
        class Images(torch.utils.data.Dataset):
            def __len__(self):
                return 40
            def __getitem__(self, index):
                try:
                    if index % 7 == 3:
                        raise OSError("image file is truncated (12 bytes not processed)")
                except OSError:
                    traceback.print_exc()
                return torch.zeros(4)
        begin()
        for batch in torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=2):
            log(size=len(batch))
        """,
        needs=TORCH,
    ),
    normal(
        "is in a script of which half the commands are missing",
        "begin()\n" + STEPS,
        command=shelled(
            f"nvidia-smi-9; module load cuda/12; ulimit -l unlimited 2>&1; cat /data/none; {PYTHON} {SCRIPT}"
        ),
    ),
    normal(
        "was killed for memory before it was started again with less",
        """
        if not os.path.exists("tried"):
            open("tried", "w").close()
            held = []
            while True:
                held.append(bytearray(b"x") * (4 << 20))
        begin()
        for step in range(20):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        """,
        command=shelled(
            f"{PYTHON} {SCRIPT} || {{ echo 'left with '$?', again with half the batch' >&2; {PYTHON} {SCRIPT}; }}"
        ),
        place=limit(220),
    ),
]
