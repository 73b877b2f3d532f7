"""Libraries, drivers and modules that do not fit together or are not there."""

TABLE = r"""
library-mismatch (end): the loader can't make a compiled module fit the libraries of this machine
    undefined symbol: \S+|symbol not found  # glibc's loader, musl's
    version `[^']+' not found  # glibc's loader
    \.so\S*: cannot open shared object  # glibc's loader
    wrong ELF class|invalid ELF header|file too short|cannot allocate memory in static TLS block  # glibc's loader
    DLL load failed  # CPython on Windows
    dynamic module does not define (?:module export|init) function  # CPython
numpy-mismatch (end): a module was compiled for another NumPy
    numpy\.(?:dtype|ufunc|ndarray) size changed|binary incompatib  # Cython
    _ARRAY_API not found|compiled using NumPy 1\.x|multiarray failed to import  # NumPy from 2.0 on
    compiled against (?:ABI|API) version  # NumPy
    Numpy is not available  # PyTorch
cuda-mismatch (end): the driver, the GPU and the CUDA of a build do not fit together
    driver version is insufficient|no kernel image is available|unsupported toolchain  # CUDA's runtime
    forward compatibility was attempted  # CUDA's driver from 10 on
    driver on your system is too old|not compiled with CUDA enabled  # PyTorch
    Driver/library version mismatch  # NVML
    CUDNN_STATUS_(?:SUBLIBRARY_)?(?:VERSION|ARCH)_MISMATCH  # cuDNN from 7 on
    cuDNN version incompatibility  # PyTorch
    Loaded runtime CuDNN library  # TensorFlow, JAX
package-mismatch (end): a package asks for another version of another one
    jaxlib is version|requires? jaxlib|jaxlib version \S+ is newer  # JAX
    is incompatible with|incompatible version|requires (?:torch|numpy|transformers|tokenizers)[^\n]*but
        # pip, and packages that look at versions
module-missing (end): a module that is not installed: its name
    No module named '([^']+)'  # CPython
"""
