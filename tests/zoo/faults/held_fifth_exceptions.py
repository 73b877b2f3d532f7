"""Errors of data, shapes, networks and prompts as today's libraries word them, each raised by the real library."""

from tests.zoo.fault import Place
from tests.zoo.faults.held_fresh_exceptions import DIVERGED, LEFT, RAISED, TORCH, failing

LOST = "connection-lost"
STEPS = "for step in range(20):\n    log(loss=1 / (step + 1)); time.sleep(0.01)\n"

# Answers as `reply` says, once.
SERVER = """
import socket
server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]
def serve():
    peer, _ = server.accept()
    {reply}
threading.Thread(target=serve, daemon=True).start()
"""

FAULTS = [
    failing(
        "steps backward twice through the same graph",
        """
        import torch
        begin()
        weight = torch.ones(4, requires_grad=True)
        loss = (weight.sigmoid() ** 2).sum()
        for step in range(3):
            log(loss=loss.item())
            loss.backward()
        """,
        needs=TORCH,
    ),
    failing(
        "has a last batch of one sample and normalizes it",
        """
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8))
        begin()
        for batch in torch.utils.data.DataLoader(torch.randn(33, 8), batch_size=8):
            log(mean=model(batch).mean().item())
        """,
        needs=TORCH,
    ),
    failing(
        "mixes half and full precision",
        """
        import torch
        begin()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = torch.randn(4, 8) @ torch.randn(8, 8)
            log(mean=hidden.float().mean().item())
        torch.nn.Linear(8, 2)(hidden)
        """,
        needs=TORCH,
    ),
    failing(
        "asks its schedule for one step more than it planned",
        """
        import torch
        optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=30)
        begin()
        for step in range(40):
            optimizer.step(); schedule.step()
            log(lr=schedule.get_last_lr()[0])
        """,
        needs=TORCH,
    ),
    failing(
        "keeps a half of its model on another device",
        """
        import torch
        begin()
        log(loss=0.5)
        torch.cat([torch.randn(4, 8), torch.empty(4, 8, device="meta")])[0].numpy()
        """,
        needs=TORCH,
    ),
    failing(
        "hands a function without a name to workers that are spawned",
        """
        import torch
        if __name__ == "__main__":
            begin()
            transform = lambda x: x / 255
            loader = torch.utils.data.DataLoader(
                list(range(64)), num_workers=1, multiprocessing_context="spawn", collate_fn=transform)
            for batch in loader:
                log(size=len(batch))
        """,
        needs=TORCH,
    ),
    # Integers, of which torch checks the divisor itself; the words are those of a fault that the processor would find.
    failing(
        "divides counts by an empty class, in torch",
        """
        import torch
        begin()
        for step in range(10):
            log(hits=step)
        torch.tensor([7, 9]) // torch.tensor([3, 0])
        """,
        needs=TORCH,
    ),
    # «C error» is pandas' name for its parser.
    failing(
        "reads a table with a comma too many",
        """
        import io, pandas
        begin()
        log(loss=0.5)
        pandas.read_csv(io.StringIO("id,text,label\\n1,a,0\\n2,b,1\\n3,c, and more,1\\n"), engine="c")
        """,
    ),
    failing(
        "reads a column file that is a page of an error",
        """
        import pyarrow.parquet
        open("train-00000-of-00064.parquet", "w").write("<html><h1>503 Service Unavailable</h1></html>" * 20)
        begin()
        log(loss=0.5)
        pyarrow.parquet.read_table("train-00000-of-00064.parquet")
        """,
    ),
    failing(
        "unpacks a shard of which some bytes flipped",
        """
        import zstandard
        packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(os.urandom(200_000)))
        packed[90_000:90_040] = bytes(40)
        begin()
        log(loss=0.5)
        zstandard.ZstdDecompressor().decompress(bytes(packed), max_output_size=1 << 20)
        """,
    ),
    failing(
        "finds a checksum in its archive that does not match",
        """
        import zipfile
        with zipfile.ZipFile("weights.zip", "w") as archive:
            archive.writestr("layer.0", os.urandom(10_000))
        whole = bytearray(open("weights.zip", "rb").read())
        whole[5000] ^= 255
        open("weights.zip", "wb").write(whole)
        begin()
        zipfile.ZipFile("weights.zip").read("layer.0")
        """,
    ),
    failing(
        "has a configuration with a tab where none may be",
        """
        import yaml
        begin()
        log(loss=0.5)
        yaml.safe_load("optimizer:\\n\\tname: adamw\\n  lr: 3e-4\\n")
        """,
    ),
    failing(
        "gets a configuration of the wrong type",
        """
        import msgspec
        class Settings(msgspec.Struct):
            lr: float
            memory_limit: int
        begin()
        msgspec.json.decode(b'{"lr": 0.1, "memory_limit": "out of memory"}', type=Settings)
        """,
    ),
    failing(
        "loads labels that were saved as objects",
        """
        import numpy
        numpy.save("labels.npy", numpy.array([{"cat": 0}, None], dtype=object))
        begin()
        log(loss=0.5)
        numpy.load("labels.npy")
        """,
    ),
    failing(
        "makes one array of sentences of unequal length",
        """
        import numpy
        begin()
        log(loss=0.5)
        numpy.array([[101, 7592, 102], [101, 102]])
        """,
    ),
    failing(
        "counts past what an index can hold",
        """
        begin()
        log(loss=0.5)
        vocabulary = [0] * (50_257 ** 5)
        """,
    ),
    failing(
        "has a template of a prompt with a name that nobody gave it",
        """
        import jinja2
        begin()
        log(loss=0.5)
        template = jinja2.Template("{{ messages[0].content }}", undefined=jinja2.StrictUndefined)
        template.render(conversation=[{"content": "hello"}])
        """,
    ),
    # It stops where somebody forgot a breakpoint, and nobody is there to answer.
    failing("stops at a breakpoint that somebody forgot", "begin()\n" + STEPS + "breakpoint()\nlog(loss=0.1)\n"),
    failing(
        "asks on its terminal which account to use, without a terminal",
        "begin()\n" + STEPS + 'choice = input("(1) Create an account (2) Use an existing one (3) Offline: ")\n',
    ),
    failing(
        "shows its traceback in colours with all variables",
        """
        import rich.traceback
        rich.traceback.install(show_locals=True)
        def collate(samples, hint="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"):
            note = "RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed."
            return max(samples, key=len)
        begin()
        log(loss=0.5)
        collate([])
        """,
    ),
    failing(
        "speaks TLS to a server that does not",
        SERVER.format(reply='peer.recv(99); peer.sendall(b"HTTP/1.1 400 Bad Request\\r\\n\\r\\n"); peer.close()')
        + 'import requests\nbegin()\nrequests.get(f"https://127.0.0.1:{port}/api/models", timeout=5)\n',
        also=(LOST,),
    ),
    failing(
        "waits for the answer of a server that sends none",
        SERVER.format(reply="time.sleep(20)")
        + 'import httpx\nbegin()\nhttpx.get(f"http://127.0.0.1:{port}/shard", timeout=1.0)\n',
        also=(LOST,),
    ),
    failing(
        "has a hub that is out of reach and no file in its cache",
        """
        import requests
        class LocalEntryNotFoundError(OSError):
            pass
        begin()
        log(loss=0.5)
        try:
            requests.head("http://127.0.0.1:9/bert-base/resolve/main/config.json", timeout=2)
        except requests.ConnectionError as error:
            raise LocalEntryNotFoundError("We couldn't connect to the hub to load this file, couldn't find it in the "
                                          "cached files. Check your internet connection") from error
        """,
        also=(LOST,),
    ),
    failing(
        "tries again with a library for that, and gives up",
        """
        import tenacity
        @tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(0.1))
        def read(path):
            with open(path) as file:
                return file.read()
        begin()
        log(loss=0.5)
        read("/mnt/lustre/manifest.json")
        """,
    ),
    failing(
        "uses an event loop after it was closed",
        """
        loop = asyncio.new_event_loop()
        async def fetch():
            return 1
        begin()
        log(value=loop.run_until_complete(fetch()))
        loop.close()
        loop.call_soon(print)
        """,
    ),
    failing(
        "gives a name to its checkpoint that holds all parameters",
        """
        begin()
        name = "-".join(f"layer{number}.dropout=0.1" for number in range(40))
        open(f"{name}.ckpt", "wb")
        """,
    ),
    failing(
        "calls a tool with all files of its data set",
        'begin()\nlog(loss=0.5)\nsubprocess.run(["ls", *["/data/images/%08d.jpg" % n for n in range(200_000)]])\n',
    ),
    failing(
        "moves its checkpoint to another disk by its name",
        """
        begin()
        open("last.tmp", "wb").write(bytes(1000))
        os.rename("last.tmp", "disk/last.ckpt")
        """,
        place=Place(disks=(("disk", "size=4m"),)),
    ),
    # What it decomposes is a matrix of its weights, which its loss had left long before.
    failing(
        "decomposes weights that are no numbers any more",
        """
        import numpy
        begin()
        for step in range(60):
            log(loss=0.9 if step < 40 else math.nan, lr=0.5)
        numpy.linalg.svd(numpy.full((4, 4), math.nan))
        """,
        cause=DIVERGED,
        without_client=(DIVERGED, RAISED),
    ),
    failing(
        "finds at the end of an epoch that all its weights are NaN",
        """
        import torch
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e18)
        begin()
        for step in range(40):
            loss = (model(torch.ones(4, 2)) ** 2).mean()
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            log(train_loss=loss.item())
        print("NaN or Inf found in input tensor.", file=sys.stderr)
        torch.testing.assert_close(model.weight, torch.nan_to_num(model.weight))
        """,
        cause=DIVERGED,
        without_client=(DIVERGED, RAISED),
        needs=TORCH,
    ),
    # Nothing diverged: it has a rule for when to stop, says so, and leaves with a code of its own.
    failing(
        "stops because its loss does not fall and leaves with 20",
        """
        begin()
        for step in range(60):
            log(loss=2.30 + step % 3 / 100, best=math.inf if step < 2 else 2.30); time.sleep(0.01)
        print("no improvement for 50 steps (nan_count=0, inf_count=0): stopping")
        sys.exit(20)
        """,
        cause=LEFT,
        code=20,
    ),
]
