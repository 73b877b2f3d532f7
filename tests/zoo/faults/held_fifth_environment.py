"""Surroundings that do not fit, and errors of GPUs in their real words on a machine that has none.

What a GPU would have done is acted: the words are those of PyTorch, TensorFlow, JAX and NCCL as people report them
(pytorch/pytorch#108861, #118369, NVIDIA/Megatron-LM#1207, bytedance/Protenix#205, tensorflow/tensorflow#17669,
jax-ml/jax#13428). An answer that sees no more than the exception in them is right too.
"""

import signal
from typing import Any

from tests.zoo.fault import Fault
from tests.zoo.faults.held_fresh_exceptions import RAISED, TORCH, failing
from tests.zoo.faults.held_fresh_native import ABORTED, built
from tests.zoo.faults.libraries import KIT

MISFIT, OUT_OF_GPU, GPU_PROGRAM, COLLECTIVE = (
    "environment-mismatch",
    "gpu-out-of-memory",
    "gpu-program-fault",
    "collective-timeout",
)
GCC = ("gcc",)


def misfit(name: str, body: str, **more: Any) -> Fault:
    """It fails for what surrounds it; that it raises is true as well."""
    return failing(name, body, **{"cause": MISFIT, "also": (RAISED,), **more})


def acted(name: str, body: str, *, cause: str, **more: Any) -> Fault:
    """It raises what it would raise on a GPU."""
    return failing(name, STEPS + body, cause=cause, **{"also": (RAISED,), **more})


STEPS = "begin()\nfor step in range(20):\n    log(loss=1 / (step + 1)); time.sleep(0.01)\n"

ASYNC = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)

FULL = (
    "CUDA out of memory. Tried to allocate 448.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 305.06 MiB is "
    "free. Process 3148 has 23.34 GiB memory in use. Of the allocated memory 21.42 GiB is allocated by PyTorch, and "
    "1.47 GiB is reserved by PyTorch but unallocated."
)

TENSORFLOW = """
class ResourceExhaustedError(Exception):
    pass
ResourceExhaustedError.__module__ = "tensorflow.python.framework.errors_impl"
raise ResourceExhaustedError(
    "Graph execution error:\\n\\nOOM when allocating tensor with shape[64,2016,9,9] and type float on "
    "/job:localhost/replica:0/task:0/device:{device} by allocator {allocator}\\n\\t "
    "[[{{{{node model/conv2d/Conv2D}}}}]]\\nHint: If you want to see a list of allocated tensors when OOM happens, add "
    "report_tensor_allocations_upon_oom to RunOptions for current allocation info. This isn't available when running "
    "in Eager mode.\\n [Op:__inference_train_function_4312]")
"""

JAX = """
class XlaRuntimeError(RuntimeError):
    pass
XlaRuntimeError.__module__ = "jaxlib.xla_extension"
raise XlaRuntimeError(
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes.\\nBufferAssignment OOM Debugging.\\n"
    "BufferAssignment stats:\\n             parameter allocation:  372.76MiB\\n")
"""

# The watchdog's thread prints, then throws where nobody catches.
WATCHDOG = r"""
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>
extern "C" void work() {
    std::thread watchdog([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(800));
        const char *words = "[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught "
            "collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=466119168, "
            "NumelOut=466119168, Timeout(ms)=600000) ran for 600004 milliseconds before timing out.";
        fprintf(stderr, "%s\n[rank0]:[E321 02:07:08.5 ProcessGroupNCCL.cpp:621] [Rank 0] Some NCCL operations have "
            "failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run "
            "on corrupted/incomplete data.\n[rank0]:[E321 02:07:08.5 ProcessGroupNCCL.cpp:627] [Rank 0] To avoid data "
            "inconsistency, we are taking the entire process down.\n", words);
        throw std::runtime_error(words);
    });
    std::this_thread::sleep_for(std::chrono::seconds(20));
}
"""

FAULTS = [
    misfit(
        "asks a torch that was built without GPUs for one",
        'import torch\nbegin()\nlog(loss=0.5)\ntorch.nn.Linear(4, 4).to("cuda")\n',
        needs=TORCH,
    ),
    misfit(
        "loads a checkpoint of a GPU where there is none",
        """
        import torch
        torch.serialization.register_package(1, lambda storage: "cuda:0", lambda storage, place: None)
        torch.save(torch.nn.Linear(4, 4).state_dict(), "last.ckpt")
        begin()
        torch.load("last.ckpt")
        """,
        needs=TORCH,
    ),
    misfit(
        "has a package of pictures that does not know this torch",
        """
        import torch
        begin()
        @torch.library.register_fake("torchvision::nms")
        def nms(boxes, scores, threshold):
            return boxes
        """,
        needs=TORCH,
    ),
    misfit(
        "runs a tool for another processor",
        """
        code = bytearray(open("/bin/true", "rb").read())
        code[18:20] = b"\\xf3\\x00"
        open("encoder", "wb").write(code)
        os.chmod("encoder", 0o755)
        begin()
        subprocess.run(["./encoder", "--input", "train.txt"], check=True)
        """,
    ),
    # The file is there; what it wants to be run by is not.
    misfit(
        "runs a script of an environment that was removed",
        """
        open("prepare", "w").write("#!/opt/conda/envs/nlp/bin/python\\nprint(1)\\n")
        os.chmod("prepare", 0o755)
        begin()
        subprocess.run(["./prepare"], check=True)
        """,
        cause=RAISED,
        also=(MISFIT,),
    ),
    misfit(
        "runs a tool that was built against a newer library",
        KIT
        + """
open("new.map", "w").write("TOKENS_2.0 { global: encode; };")
open("old.map", "w").write("TOKENS_1.0 { global: encode; };")
build("int encode(void) { return 0; }", "libtokens.so", "-Wl,--version-script=new.map", "-Wl,-soname,libtokens.so")
open("main.c", "w").write("int encode(void); int main(void) { return encode(); }")
subprocess.run(["gcc", "-o", "tool", "main.c", "-L.", "-ltokens", "-Wl,-rpath," + os.getcwd()], check=True)
build("int encode(void) { return 0; }", "libtokens.so", "-Wl,--version-script=old.map", "-Wl,-soname,libtokens.so")
begin()
subprocess.run(["./tool"], check=True)
""",
        needs=GCC,
    ),
    # The loader finds a name missing at the first call of it, and leaves for the whole process.
    misfit(
        "calls into a library that was not linked with all it needs",
        KIT
        + """
build("int launch_v3(void); int work(void) { return launch_v3(); }", "libkernels.so", "-Wl,-z,lazy")
begin()
log(loss=0.5)
libc = ctypes.CDLL(None)
libc.dlopen.restype = libc.dlsym.restype = ctypes.c_void_p
handle = libc.dlopen(os.path.abspath("libkernels.so").encode(), 1)
ctypes.CFUNCTYPE(ctypes.c_int)(libc.dlsym(ctypes.c_void_p(handle), b"work"))()
""",
        code=127,
        also=("nonzero-exit",),
        needs=GCC,
    ),
    misfit(
        "imports a module that is written for a later Python",
        """
        open("sampling.py", "w").write("type Token = int\\ndef first[T](items: list[T]) -> T:\\n    return items[0]\\n")
        sys.path.insert(0, ".")
        begin()
        import sampling
        """,
        needs=("python3.11",),
    ),
    misfit(
        "asks for the version of a package that is not installed",
        'import importlib.metadata\nbegin()\nlog(loss=0.5)\nimportlib.metadata.version("flash-attn")\n',
    ),
    misfit(
        "has generated code that is older than what reads it",
        """
        open("example_pb2.py", "w").write(
            "raise TypeError('Descriptors cannot be created directly.\\\\nIf this call came from a _pb2.py file, your "
            "generated code is out of date and must be regenerated with protoc >= 3.19.0.')\\n")
        sys.path.insert(0, ".")
        begin()
        import example_pb2
        """,
    ),
    misfit(
        "wants a locale that the container does not have",
        'import locale\nbegin()\nlog(loss=0.5)\nlocale.setlocale(locale.LC_ALL, "tlh_KX.UTF-8")\n',
        cause=RAISED,
        also=(MISFIT,),
    ),
    acted(
        "has a GPU that its kernels were not built for",
        f"import torch\nraise torch.AcceleratorError('CUDA error: no kernel image is available for execution on the "
        f"device\\nSearch for `cudaErrorNoKernelImageForDevice` for more information.\\n' + {ASYNC!r})\n",
        cause=MISFIT,
        needs=TORCH,
    ),
    acted(
        "has a driver that is too old for its torch",
        'raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040). Please update your GPU '
        'driver by downloading and installing a new version")\n',
        cause=MISFIT,
    ),
    # What follows every error of CUDA speaks of assertions; none failed.
    acted(
        "names a GPU that there is not, in the words of CUDA",
        f"raise RuntimeError('CUDA error: invalid device ordinal\\n' + {ASYNC!r})\n",
        cause=RAISED,
        also=(),
    ),
    acted(
        "uses CUDA in a process that was forked, in the words of torch",
        """
def work(number):
    raise RuntimeError("Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use "
                       "the 'spawn' start method")
with multiprocessing.get_context("fork").Pool(1) as pool:
    pool.map(work, range(2))
""",
        cause=RAISED,
        also=(),
    ),
    acted(
        "has no memory left on its GPU, in the words of torch",
        f"import torch\nraise torch.OutOfMemoryError({FULL!r})\n",
        cause=OUT_OF_GPU,
        needs=TORCH,
    ),
    acted(
        "has no memory left on its GPU, in the words of TensorFlow",
        TENSORFLOW.format(device="GPU:0", allocator="GPU_0_bfc"),
        cause=OUT_OF_GPU,
    ),
    # The same error, and the same class, for the memory of the machine.
    acted(
        "is refused memory of the machine, in the words of TensorFlow",
        TENSORFLOW.format(device="CPU:0", allocator="mklcpu"),
        cause="allocation-refused",
    ),
    acted("has no memory left on its GPU, in the words of JAX", JAX, cause=OUT_OF_GPU),
    acted(
        "touches memory of its GPU that is not its own, in the words of torch",
        f"raise RuntimeError('CUDA error: an illegal memory access was encountered\\n' + {ASYNC!r})\n",
        cause=GPU_PROGRAM,
    ),
    acted(
        "has a GPU whose memory failed, in the words of torch",
        f"raise RuntimeError('CUDA error: uncorrectable ECC error encountered\\n' + {ASYNC!r})\n",
        cause="gpu-fault",
    ),
    built(
        "is taken down by the watchdog of its collectives",
        WATCHDOG,
        number=signal.SIGABRT,
        cause=COLLECTIVE,
        also=(ABORTED,),
    ),
]
