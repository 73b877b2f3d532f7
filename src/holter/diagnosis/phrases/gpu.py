"""What CUDA, the libraries on it and the driver say."""

TABLE = r"""
gpu-spoken-of: it is about a GPU, whatever it is
    CUDA|cuda|CUDNN|cuDNN|CUBLAS|cublas|NCCL|GPU|HIP error|AcceleratorError|XlaRuntimeError|NVML  # all that runs on one
gpu-program-fault (end): GPU code of the program did something impossible; the context is lost
    device-side assert(?!ions)  # CUDA's runtime
    illegal memory access  # CUDA's runtime
    ILLEGAL_ADDRESS|CUDA_ERROR_LAUNCH_FAILED|CUDA_ERROR_ASSERT  # CUDA's driver
    unspecified launch failure  # CUDA's runtime
    misaligned address  # CUDA's runtime
    illegal instruction was encountered  # CUDA's runtime
    invalid program counter  # CUDA's runtime
    hardware stack error  # CUDA's runtime
gpu-hardware-fault (end): the GPU itself failed
    GPU is lost  # NVML
    fallen off the bus  # NVIDIA's driver
    uncorrectable ECC|ECC error|CUDA_ERROR_ECC  # CUDA's runtime
    Unable to determine the device handle  # nvidia-smi
    CUDA_ERROR_SYSTEM_NOT_READY  # CUDA's driver from 10.1 on
    GPU requires reset  # NVML from 11 on
gpu-memory-refused-by-type (end): an exception whose class is that of a GPU without memory
    (?:^|\n)(?:torch\.(?:cuda\.|_C\.|mps\.)?|cupy\.\S*|numba\.\S*)?(?:OutOfMemoryError|CudaOutOfMemory\w*):[ ]
        # PyTorch from 1.13 on, CuPy, Numba
gpu-memory-refused: a GPU had no memory left
    (?:CUDA|HIP|MPS|XPU|GPU)\S* (?:backend )?out of memory  # PyTorch
    CUDA error: out of memory  # CUDA's runtime
    CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation  # CUDA's driver and runtime
    (?s)RESOURCE_EXHAUSTED: .*(?:GPU|CUDA|device|HBM|allocat)  # XLA: JAX, TensorFlow
    (?s)OOM when allocating tensor.*(?:device:GPU|gpu)  # TensorFlow from 1.0 on
    (?s)failed to allocate .* from device  # TensorFlow's stream executor
gpu-memory-refused-to-library (end): a library on CUDA got no memory of its own, or the context was broken
    CU(?:BLAS|DNN|SOLVER|FFT)_STATUS_ALLOC_FAILED  # cuBLAS, cuDNN, cuSOLVER, cuFFT
exception-of-accelerator: an exception of a class that only code for accelerators raises
    (?:Jax|Xla)RuntimeError|ResourceExhaustedError|AcceleratorError|InternalError
        # JAX, TensorFlow, PyTorch from 2.8 on
memory-of-cpu: the memory is the host's, though the library is one for GPUs
    device:CPU|DefaultCPUAllocator|on device cpu|\bCpuDevice  # PyTorch, TensorFlow, JAX
gpu-memory-asked: how much of a GPU was asked for
    [Tt]r(?:ied|ying) to allocate ([\d.]+ ?[KMGT]i?B)  # PyTorch, XLA
    allocate (\d+) bytes  # XLA: JAX, TensorFlow
torch-asked: how much PyTorch asked for, and the unit
    Tried to allocate ([\d.]+) ([KMGT]iB)  # PyTorch from 0.4 on
torch-unused: how much PyTorch had reserved in pieces, and the unit
    ([\d.]+) ([KMGT]iB) is reserved by PyTorch but unallocated  # PyTorch from 2.0 on
gpu-holder: another process on the GPU: its pid, how much it holds, and the unit
    Process (\d+) has ([\d.]+) ([KMGT]iB) memory in use  # PyTorch from 2.0 on
cuda-after-fork (end): a forked child can't use the CUDA of its parent
    CUDA.*forked subprocess  # PyTorch from 0.3 on
cuda-not-initialised (end): a forked child uses the CUDA of its parent, or there is trouble with the driver
    CUDA error: initialization error  # CUDA's runtime
no-such-gpu (end): the program asks for a GPU that it can't see
    invalid device ordinal  # CUDA's runtime
    No CUDA GPUs are available  # PyTorch from 1.5 on
    Invalid device id\b  # PyTorch
"""
