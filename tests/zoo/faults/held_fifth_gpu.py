"""Deaths on a real GPU that nobody may tune a rule against: `make ZOO_ARGS='--only fifth_gpu --lanes 1' zoo`."""

import signal
from typing import Any

from tests.zoo.fault import Fault
from tests.zoo.faults.gpu import BEGIN, fails
from tests.zoo.faults.killed import kill

FULL, PROGRAM, RAISED = "gpu-out-of-memory", "gpu-program-fault", "uncaught-exception"


def struck(name: str, body: str, number: int, *, cause: str, **more: Any) -> Fault:
    """Somebody ends it while it holds the GPU."""
    usual = {"state": "crashed", "strike": kill(number), "needs": ("gpu", "torch"), "takes_s": 60.0}
    return Fault(name=name, program=BEGIN + body, ends=(-number,), cause=cause, **{**usual, **more})


LIGHTNING = """
import pytorch_lightning
class Model(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
    def training_step(self, batch, index):
        log(loss=1 / (index + 1))
        if index == 5:
            {fate}
        return self.layer(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
trainer = pytorch_lightning.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False,
                                    enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(Model(), torch.utils.data.DataLoader(torch.randn(64, 4), batch_size=4))
"""

TRITON = """
import triton
import triton.language as tl
# A kernel must lie in a file.
open("kernels.py", "w").write('''
import triton
import triton.language as tl
@triton.jit
def store(pointer, offset):
    tl.store(pointer + offset, 1.0)
''')
import sys
sys.path.insert(0, ".")
from kernels import store
store[(1,)](here, 1 << 44)
torch.cuda.synchronize()
"""

# Another process of the same GPU fails; nobody minds.
PROBE = """
import subprocess, sys
probe = "import torch; torch.nn.Embedding(4, 2).cuda()(torch.tensor([9]).cuda()).sum().item()"
print("probe left with", subprocess.run([sys.executable, "-c", probe]).returncode, flush=True)
"""

FAULTS = [
    fails(
        "keeps the graph of every step on the GPU",
        """
        weight = torch.ones(1 << 28, device="cuda", requires_grad=True)
        total = 0
        for step in range(1000):
            total = total + (weight * step).sigmoid().sum()
            log(loss=1.0)
        """,
        cause=FULL,
    ),
    # Its own limit: nearly all of the GPU is free.
    fails(
        "may use a hundredth of the GPU and asks for a tenth",
        """
        torch.cuda.set_per_process_memory_fraction(0.01)
        torch.empty(int(torch.cuda.mem_get_info()[1] * 0.1), dtype=torch.uint8, device="cuda")
        """,
        cause=FULL,
    ),
    fails(
        "catches a full GPU, takes half, and finds it full again",
        """
        size = torch.cuda.mem_get_info()[1] * 3 // 4
        kept = [torch.empty(size, dtype=torch.uint8, device="cuda")]
        try:
            torch.empty(size, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError as error:
            print("trying half of it:", error)
        log(loss=0.5)
        torch.empty(size // 2, dtype=torch.uint8, device="cuda")
        """,
        cause=FULL,
    ),
    # Memory of the machine, which CUDA pins, in the words of a GPU.
    fails(
        "wants to pin more of the machine's memory than there is",
        "torch.empty(1 << 46, dtype=torch.uint8, pin_memory=True)",
        cause="allocation-refused",
        also=(FULL,),
    ),
    fails(
        "gathers from a row that is not there, on the GPU",
        """
        table = torch.zeros(8, 4, device="cuda")
        print(table.gather(0, torch.full((1, 4), 800, device="cuda")).sum().item())
        """,
        cause=PROGRAM,
    ),
    fails("writes far away from a kernel of Triton", TRITON, cause=PROGRAM),
    # What the GPU asserts is that there are no NaN; that there were some is why.
    fails(
        "samples on the GPU from what became NaN",
        """
        for step in range(20):
            log(loss=0.5 if step < 12 else float("nan"))
        print(torch.multinomial(torch.full((4,), float("nan"), device="cuda"), 1).item())
        """,
        cause="diverged",
        also=(PROGRAM,),
    ),
    fails(
        "leaves a half of its batch on the CPU",
        "torch.nn.Linear(4, 4).cuda()(torch.zeros(2, 4))",
        cause=RAISED,
    ),
    fails(
        "convolves half precision with full precision, on the GPU",
        'torch.nn.Conv2d(3, 8, 3).cuda()(torch.zeros(1, 3, 16, 16, device="cuda", dtype=torch.half))',
        cause=RAISED,
    ),
    fails(
        "has a trainer of Lightning whose step fails",
        LIGHTNING.format(fate="raise ValueError('label 17 is not one of 10 classes')"),
        cause=RAISED,
        needs=("pytorch_lightning",),
    ),
    fails(
        "has a trainer of Lightning that fills the GPU",
        LIGHTNING.format(fate="torch.empty(1 << 44, dtype=torch.uint8, device='cuda')"),
        cause=FULL,
        needs=("pytorch_lightning",),
    ),
    struck(
        "is terminated while it computes on the GPU",
        "weights = torch.randn(4096, 4096, device='cuda')\nfrom training import mark\nmark('staying')\n"
        "while True:\n    weights = torch.nn.functional.normalize(weights @ weights)\n",
        signal.SIGTERM,
        cause="terminated",
    ),
    struck(
        "got over an assertion in another process of the GPU and is killed by hand",
        PROBE + "stay()\n",
        signal.SIGKILL,
        cause="killed",
    ),
    Fault(
        name="has a probe that asserts on the GPU, and comes to its end",
        program=BEGIN + PROBE + "log(loss=0.1)\n",
        ends=(0,),
        state="finished",
        needs=("gpu", "torch"),
        takes_s=60.0,
    ),
]
