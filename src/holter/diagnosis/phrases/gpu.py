"""What CUDA, the libraries on it and the driver say."""

TABLE = r"""
gpu-spoken-of: it is about a GPU, whatever it is
    CUDA|cuda|CUDNN|cuDNN|CUBLAS|cublas|NCCL|GPU|HIP error|AcceleratorError|XlaRuntimeError|NVML
        all that runs on one | zoo: leaves no memory for cuBLAS
            RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`
gpu-program-fault (end): GPU code of the program did something impossible; the context is lost
    device-side assert(?!ions)
        CUDA's runtime | zoo: gives a class that its loss does not have
            torch.AcceleratorError: CUDA error: device-side assert triggered
    illegal memory access
        CUDA's runtime | zoo: is killed by hand while it logs errors that it caught
            RuntimeError: CUDA error: an illegal memory access was encountered
    ILLEGAL_ADDRESS|CUDA_ERROR_LAUNCH_FAILED|CUDA_ERROR_ASSERT
        CUDA's driver | zoo: writes to an address that is not its own
            CUDADriverError: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered
    unspecified launch failure
        CUDA's runtime | zoo: traps in a kernel | torch.AcceleratorError: CUDA error: unspecified launch failure
    misaligned address
        CUDA's runtime | CUDA: cudaGetErrorString | CUDA error: misaligned address
    illegal instruction was encountered
        CUDA's runtime | CUDA: cudaGetErrorString | CUDA error: an illegal instruction was encountered
    invalid program counter
        CUDA's runtime | CUDA: cudaGetErrorString | CUDA error: invalid program counter
    hardware stack error
        CUDA's runtime | CUDA: cudaGetErrorString | CUDA error: hardware stack error
gpu-hardware-fault (end): the GPU itself failed
    GPU is lost
        NVML | NVML: nvmlErrorString | NVMLError_GpuIsLost: GPU is lost
    fallen off the bus
        NVIDIA's driver | NVIDIA: Xid errors, 79 | NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.
    uncorrectable ECC|ECC error|CUDA_ERROR_ECC
        CUDA's runtime | CUDA: cudaGetErrorString | RuntimeError: CUDA error: uncorrectable ECC error encountered
    Unable to determine the device handle
        nvidia-smi | NVIDIA: nvidia-smi after Xid 79
            Unable to determine the device handle for GPU 0000:65:00.0: Unknown Error
    CUDA_ERROR_SYSTEM_NOT_READY
        CUDA's driver from 10.1 on | CUDA: cuGetErrorName | CUDA_ERROR_SYSTEM_NOT_READY: system not yet initialized
    GPU requires reset
        NVML from 11 on | NVML: nvmlErrorString | GPU requires reset
gpu-memory-refused-by-type (end): an exception whose class is that of a GPU without memory
    (?:^|\n)(?:torch\.(?:cuda\.|_C\.|mps\.)?|cupy\.\S*|numba\.\S*)?(?:OutOfMemoryError|CudaOutOfMemory\w*):[ ]
        PyTorch from 1.13 on, CuPy, Numba | zoo: asks a GPU for more than it has
            torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 16384.00 GiB. GPU 0 has a total
gpu-memory-refused: a GPU had no memory left
    (?:CUDA|HIP|MPS|XPU|GPU)\S* (?:backend )?out of memory
        PyTorch | zoo: asks a GPU for more than it has
            torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 16384.00 GiB. GPU 0 has a total
    CUDA error: out of memory
        CUDA's runtime | zoo: multiplies matrices that do not fit | CUDA error: out of memory (fell back to the CPU)
    CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation
        CUDA's driver and runtime | CUDA: cuGetErrorName
            numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY
    (?s)RESOURCE_EXHAUSTED: .*(?:GPU|CUDA|device|HBM|allocat)
        XLA: JAX, TensorFlow | zoo: asks JAX for more than there is
            RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.00TiB with allocator GPU_0_bfc on device 0
    (?s)OOM when allocating tensor.*(?:device:GPU|gpu)
        TensorFlow from 1.0 on | TensorFlow: tensorflow/core/framework/op_kernel.cc
            OOM when allocating tensor with shape[256,64] and type float on /job:localhost/task:0/device:GPU:0
    (?s)failed to allocate .* from device
        TensorFlow's stream executor | XLA: xla/stream_executor/cuda/cuda_executor.cc
            failed to allocate 11.92G (12801474560 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory
gpu-memory-refused-to-library (end): a library on CUDA got no memory of its own, or the context was broken
    CU(?:BLAS|DNN|SOLVER|FFT)_STATUS_ALLOC_FAILED
        cuBLAS, cuDNN, cuSOLVER, cuFFT | zoo: leaves no memory for cuBLAS
            RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`
exception-of-accelerator: an exception of a class that only code for accelerators raises
    (?:Jax|Xla)RuntimeError|ResourceExhaustedError|AcceleratorError|InternalError
        JAX, TensorFlow, PyTorch from 2.8 on | zoo: reads from the GPU in the workers of a loader
            torch.AcceleratorError: CUDA error: initialization error
memory-of-cpu: the memory is the host's, though the library is one for GPUs
    device:CPU|DefaultCPUAllocator|on device cpu|\bCpuDevice
        PyTorch, TensorFlow, JAX | zoo: asks torch for more than its shell allows
            RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory
gpu-memory-asked: how much of a GPU was asked for
    [Tt]r(?:ied|ying) to allocate ([\d.]+ ?[KMGT]i?B)
        PyTorch, XLA | zoo: asks a GPU for more than it has
            torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 16384.00 GiB. GPU 0 has a total
    allocate (\d+) bytes
        TensorFlow, RMM | RMM: include/rmm/mr/device/cuda_memory_resource.hpp
            std::bad_alloc: out_of_memory: CUDA error (failed to allocate 8589934592 bytes)
torch-asked: how much PyTorch asked for, and the unit
    Tried to allocate ([\d.]+) ([KMGT]iB)
        PyTorch from 0.4 on | zoo: asks a GPU for more than it has
            torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 16384.00 GiB. GPU 0 has a total
torch-unused: how much PyTorch had reserved in pieces, and the unit
    ([\d.]+) ([KMGT]iB) is reserved by PyTorch but unallocated
        PyTorch from 2.0 on | zoo: asks a GPU for more than it has
            512 bytes is allocated by PyTorch, and 2.00 MiB is reserved by PyTorch but unallocated.
gpu-holder: another process on the GPU: its pid, how much it holds, and the unit
    Process (\d+) has ([\d.]+) ([KMGT]iB) memory in use
        PyTorch from 2.0 on | zoo: asks a GPU for more than it has
            of which 2.59 GiB is free. Process 445 has 136.60 GiB memory in use.
cuda-after-fork (end): a forked child can't use the CUDA of its parent
    CUDA.*forked subprocess
        PyTorch from 0.3 on | zoo: asks for the GPU in the workers of a loader
            RuntimeError: Cannot re-initialize CUDA in forked subprocess.
cuda-not-initialised (end): a forked child uses the CUDA of its parent, or there is trouble with the driver
    CUDA error: initialization error
        CUDA's runtime | zoo: reads from the GPU in the workers of a loader
            torch.AcceleratorError: CUDA error: initialization error
no-such-gpu (end): the program asks for a GPU that it can't see
    invalid device ordinal
        CUDA's runtime | zoo: asks for a GPU that is not there
            torch.AcceleratorError: CUDA error: invalid device ordinal
    No CUDA GPUs are available
        PyTorch from 1.5 on | PyTorch: c10/cuda/CUDAFunctions.cpp | RuntimeError: No CUDA GPUs are available
    Invalid device id\b
        PyTorch | PyTorch: torch/cuda/__init__.py | AssertionError: Invalid device id
"""
