"""The last words of native code, of the interpreter and of Linux about a fault."""

TABLE = r"""
aborts (end): a library found something that it could not go on with
    terminate called  # libstdc++
    what\(\):  # libstdc++
    free\(\): |malloc\(\): |malloc_consolidate\(\)|munmap_chunk\(\)|double free|corrupted|realloc\(\): |invalid pointer
        # glibc's malloc
    stack smashing detected|buffer overflow detected  # glibc, for code that was compiled with guards
    Fatal Python error(?!: Aborted)  # CPython
    Assertion .* failed  # glibc's assert
    LLVM ERROR  # LLVM: Numba, Triton, XLA
    Check failed:  # glog, Abseil: TensorFlow, JAX
    pure virtual method called  # libstdc++
    panicked at  # Rust
    terminating due to uncaught  # libc++
gives-up (end): the interpreter or the heap ends the process, and takes all handlers down first
    ^Fatal Python error:[ ]  # CPython
    ^(?:free|malloc|realloc)\(\):[ ]  # glibc's malloc
    ^terminate called[ ]  # libstdc++
fatal-signal (end): Python's own writer of stacks names the signal
    Fatal Python error: (Segmentation fault|Aborted|Bus error|Floating[- ]point exception|Illegal instruction)
        # CPython's faulthandler
segfault (end): Linux writes down a fault: the address, the stack pointer, the library
    segfault at ([0-9a-f]+) ip \S+ sp ([0-9a-f]+)(?:.* in (\S+?)\[)?  # Linux on x86
memory-failed: Linux writes down that the machine's memory failed
    hardware memory corruption|Memory failure  # Linux
    [Uu]ncorrect(?:ed|able)|UE (?:memory|page)  # Linux, EDAC
    Machine check|MCE.*Fatal|Hardware Error  # Linux, MCE
memory-corrected: an error of the memory that the machine corrected: a warning
    (?a)[Cc]orrected error|CE memory|\bCE\b|soft-offlin  # Linux, EDAC
line-of-a-stack: a line of a native stack, which follows the words of who gives up
    ^(?:\s|frame #|#\d|\[0x|\S+\(.*\)\s*\[0x)  # glibc's backtrace_symbols, PyTorch
command-name: the first word of a command line
    [\w./+-]+  # who runs a command
"""
