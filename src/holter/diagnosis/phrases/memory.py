"""Memory of the host that was refused, and shared memory that was used up."""

TABLE = r"""
array-refused (end): NumPy was refused memory for an array; how much
    Unable to allocate ([\d.]+) ?([KMGTPE]?)i?B for an array  # NumPy from 1.17 on
asked-bytes: how many bytes were asked for
    (?:tried to allocate|allocat\w*) (\d{4,}) bytes  # PyTorch, Rust
bad-alloc (end): C++ was refused memory
    std::bad_alloc  # C++
out-of-memory: there is none left, of whatever kind
    (?i)\bout of memory\b  # many libraries
memory-refused (end): an allocator of the host's memory was refused
    + array-refused
    can't allocate memory: you tried to allocate  # PyTorch from 1.0 on
    + bad-alloc
    RESOURCE_EXHAUSTED: Out of memory allocating \d+ bytes  # XLA on a CPU
    (?s)OOM when allocating tensor.*device:CPU  # TensorFlow from 1.0 on
    (?s)mmap.*Cannot allocate  # PyTorch
    out of memory allocating  # GCC's and others' xmalloc
    malloc of size \d+ failed  # Apache Arrow
no-memory: some memory was lacking; anybody's, of any kind
    + out-of-memory
    (?i)\bmemory exhausted\b  # GNU coreutils
    (?i)(?:not enough|insufficient) memory  # Linux, libraries
    (?i)memory allocation fail  # libxml2
    (?i)(?:cannot|could not|failed to|unable to) allocate  # many libraries
memory-refused-natively (end): native code was refused memory and does not catch that
    + bad-alloc
    memory allocation of \d+ bytes failed  # Rust's standard library
    bad_array_new_length  # C++ from 11 on
memory-lacking: the operating system or a language has no memory
    Cannot allocate memory  # glibc, for ENOMEM
    + out-of-memory
    + bad-alloc
shared-memory-refused (end): there was no room in /dev/shm
    unable to (?:allocate|open|mmap|resize|write).{0,40}(?:shared memory|/torch_)  # PyTorch from 0.4 on
    insufficient shared memory  # PyTorch's data loader
    could not (?:allocate|create) shared memory  # PostgreSQL
    out of shared memory  # PostgreSQL, CUDA's IPC
"""
