"""Memory of the host that was refused, and shared memory that was used up."""

TABLE = r"""
array-refused (end): NumPy was refused memory for an array; how much
    Unable to allocate ([\d.]+) ?([KMGTPE]?)i?B for an array
        NumPy from 1.17 on | zoo: caught a MemoryError long ago and mixes types now
            MemoryError: Unable to allocate 31.2 GiB for an array
asked-bytes: how many bytes were asked for
    (?:tried to allocate|allocat\w*) (\d{4,}) bytes
        PyTorch, Rust | zoo: asks torch for more than its shell allows
            DefaultCPUAllocator: can't allocate memory: you tried to allocate 25769803776 bytes.
bad-alloc (end): C++ was refused memory
    std::bad_alloc
        C++ | zoo: has a library of C++ that is refused memory |   what():  std::bad_alloc
out-of-memory: there is none left, of whatever kind
    (?i)\bout of memory\b
        many libraries | zoo: is started by a shell in which something faulted before | Out of memory: Killed
memory-refused (end): an allocator of the host's memory was refused
    + array-refused
    can't allocate memory: you tried to allocate
        PyTorch from 1.0 on | zoo: asks torch for more than its shell allows
            alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate
    + bad-alloc
    RESOURCE_EXHAUSTED: Out of memory allocating \d+ bytes
        XLA on a CPU | XLA: xla/pjrt/cpu/cpu_client.cc
            jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 40000000000 bytes.
    (?s)OOM when allocating tensor.*device:CPU
        TensorFlow from 1.0 on | TensorFlow: tensorflow/core/framework/op_kernel.cc
            OOM when allocating tensor with shape[65536,65536] and type float on /job:localhost/task:0/device:CPU:0
    (?s)mmap.*Cannot allocate
        PyTorch | PyTorch: aten/src/ATen/MapAllocator.cpp
            RuntimeError: unable to mmap 8589934592 bytes from file </torch_1_2_3>: Cannot allocate memory (12)
    out of memory allocating
        GCC's and others' xmalloc | GCC: libiberty/xmalloc.c
            cc1plus: out of memory allocating 65536 bytes after a total of 1073741824 bytes
    malloc of size \d+ failed
        Apache Arrow | zoo: asks Arrow for a buffer that nobody has
            pyarrow.lib.ArrowMemoryError: malloc of size 562949953421312 failed
no-memory: some memory was lacking; anybody's, of any kind
    + out-of-memory
    (?i)\bmemory exhausted\b
        GNU coreutils | zoo: copies with a tool in blocks that are larger than its memory may be
            dd: memory exhausted by input buffer of size 1073741824 bytes (1.0 GiB)
    (?i)(?:not enough|insufficient) memory
        Linux, libraries | zoo: asks numpy for 32 TiB
            __vm_enough_memory: pid: 6043, comm: python, bytes: 35184372092928 not enough memory for the allocation
    (?i)memory allocation fail
        libxml2 | libxml2: error.c | lxml.etree.XMLSyntaxError: Memory allocation failed
    (?i)(?:cannot|could not|failed to|unable to) allocate
        many libraries | zoo: caught a MemoryError long ago and mixes types now
            MemoryError: Unable to allocate 31.2 GiB for an array
memory-refused-natively (end): native code was refused memory and does not catch that
    + bad-alloc
    memory allocation of \d+ bytes failed
        Rust's standard library | zoo: has a library of Rust that is refused memory
            memory allocation of 160 bytes failed
    bad_array_new_length
        C++ from 11 on | libstdc++: libsupc++/bad_array_new.cc |   what():  std::bad_array_new_length
memory-lacking: the operating system or a language has no memory
    Cannot allocate memory
        glibc, for ENOMEM | zoo: maps a data set that its address space has no room for
            OSError: [Errno 12] Cannot allocate memory
    + out-of-memory
    + bad-alloc
shared-memory-refused (end): there was no room in /dev/shm
    unable to (?:allocate|open|mmap|resize|write).{0,40}(?:shared memory|/torch_)
        PyTorch from 0.4 on | zoo: has torch share tensors in a small /dev/shm
            RuntimeError: unable to allocate shared memory(shm) for file </torch_6528_2383444860_1>: No space left
    insufficient shared memory
        PyTorch's data loader | PyTorch: torch/csrc/DataLoader.cpp
            ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).
    could not (?:allocate|create) shared memory
        PostgreSQL | PostgreSQL: src/backend/port/sysv_shmem.c
            FATAL:  could not create shared memory segment: No space left on device
    out of shared memory
        PostgreSQL, CUDA's IPC | PostgreSQL: src/backend/storage/lmgr/lock.c | ERROR:  out of shared memory
"""
