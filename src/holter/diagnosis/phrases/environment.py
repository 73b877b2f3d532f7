"""Libraries, drivers and modules that do not fit together or are not there."""

TABLE = r"""
library-mismatch (end): the loader can't make a compiled module fit the libraries of this machine
    undefined symbol: \S+|symbol not found
        glibc's loader, musl's | zoo: imports a library that wants a function that is not there
            ImportError: /stage/_kernels.cpython-311-x86_64-linux-gnu.so: undefined symbol: cudaMalloc_v99
    version `[^']+' not found
        glibc's loader | zoo: imports an extension that was built for another version of a library
            ImportError: /stage/libfast.so: version `KERNELS_2.0' not found (required by /stage/_kernels.cpython-311-x
    \.so\S*: cannot open shared object
        glibc's loader | zoo: loads a library of a driver that is not installed
            OSError: libcudnn_ops.so.9: cannot open shared object file: No such file or directory
    wrong ELF class|invalid ELF header|file too short|cannot allocate memory in static TLS block
        glibc's loader | zoo: imports a library of which hardly anything was copied
            ImportError: /stage/_kernels.cpython-311-x86_64-linux-gnu.so: file too short
    DLL load failed
        CPython on Windows | CPython: Python/dynload_win.c | ImportError: DLL load failed while importing _ssl
    dynamic module does not define (?:module export|init) function
        CPython | zoo: imports an extension that was built under another name
            ImportError: dynamic module does not define module export function (PyInit__kernels)
numpy-mismatch (end): a module was compiled for another NumPy
    numpy\.(?:dtype|ufunc|ndarray) size changed|binary incompatib
        Cython | zoo: imports an extension that was built against another numpy
            ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 72 from C header
    _ARRAY_API not found|compiled using NumPy 1\.x|multiarray failed to import
        NumPy from 2.0 on | NumPy: numpy/_core/_multiarray_umath.py
            A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.0 as it may crash.
    compiled against (?:ABI|API) version
        NumPy | NumPy: numpy/_core/code_generators/generate_numpy_api.py
            RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xf
    Numpy is not available
        PyTorch | PyTorch: torch/csrc/utils/tensor_numpy.cpp | RuntimeError: Numpy is not available
cuda-mismatch (end): the driver, the GPU and the CUDA of a build do not fit together
    driver version is insufficient|no kernel image is available|unsupported toolchain
        CUDA's runtime | CUDA: cudaGetErrorString | CUDA error: no kernel image is available for execution on the device
    forward compatibility was attempted
        CUDA's driver from 10 on | CUDA: cudaGetErrorString
            CUDA error: forward compatibility was attempted on non supported HW
    driver on your system is too old|not compiled with CUDA enabled
        PyTorch | PyTorch: torch/cuda/__init__.py | AssertionError: Torch not compiled with CUDA enabled
    Driver/library version mismatch
        NVML | NVIDIA: nvidia-smi | Failed to initialize NVML: Driver/library version mismatch
    CUDNN_STATUS_(?:SUBLIBRARY_)?(?:VERSION|ARCH)_MISMATCH
        cuDNN from 7 on | cuDNN: cudnnGetErrorString
            RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH
    cuDNN version incompatibility
        PyTorch | PyTorch: torch/backends/cudnn/__init__.py
            RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (8, 9, 2) but found runtime vers
    Loaded runtime CuDNN library
        TensorFlow, JAX | XLA: xla/stream_executor/cuda/cuda_dnn.cc
            Loaded runtime CuDNN library: 8.5.0 but source was compiled with: 8.6.0.
package-mismatch (end): a package asks for another version of another one
    jaxlib is version|requires? jaxlib|jaxlib version \S+ is newer
        JAX | JAX: jax/_src/lib/__init__.py
            RuntimeError: jaxlib version 0.4.20 is newer than and incompatible with jax version 0.4.10
    is incompatible with|incompatible version|requires (?:torch|numpy|transformers|tokenizers)[^\n]*but
        packages that look at versions | transformers: src/transformers/utils/versions.py
            ImportError: tokenizers>=0.21 is required: this version is incompatible with transformers 4.50
module-missing (end): a module that is not installed: its name
    No module named '([^']+)'
        CPython | zoo: imports a module that is not there | ModuleNotFoundError: No module named 'flash_attention_9'
"""
