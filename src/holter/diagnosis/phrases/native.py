"""The last words of native code, of the interpreter and of Linux about a fault."""

TABLE = r"""
aborts (end): a library found something that it could not go on with
    terminate called
        libstdc++ | zoo: calls a virtual function of what is not there yet
            terminate called without an active exception
    what\(\):
        libstdc++ | zoo: throws in C++ and nobody catches |   what():  bad tensor
    free\(\): |malloc\(\): |malloc_consolidate\(\)|munmap_chunk\(\)|double free|corrupted|realloc\(\): |invalid pointer
        glibc's malloc | zoo: frees what it did not get from the heap | free(): invalid pointer
    stack smashing detected|buffer overflow detected
        glibc, for code that was compiled with guards | zoo: writes over its stack's canary
            *** stack smashing detected ***: terminated
    Fatal Python error(?!: Aborted)
        CPython | zoo: has the interpreter give up | Fatal Python error: deallocating None
    Assertion .* failed
        glibc's assert | zoo: fails an assertion in C | python: kernels.c:5: work: Assertion `shape == 4' failed.
    LLVM ERROR
        LLVM: Numba, Triton, XLA | LLVM: llvm/lib/Support/ErrorHandling.cpp | LLVM ERROR: Cannot select: intrinsic
    Check failed:
        glog, Abseil: TensorFlow, JAX | zoo: has a library that checks its shapes and gives up
            F1115 04:12:09.118 131 tensor_shape.cc:209] Check failed: rows == columns (768 vs. 1024)
    pure virtual method called
        libstdc++ | zoo: calls a virtual function of what is not there yet | pure virtual method called
    panicked at
        Rust | zoo: has a tokenizer that panics | thread '<unnamed>' panicked at src/lib.rs:88:41:
    terminating due to uncaught
        libc++ | LLVM: libcxxabi/src/cxa_default_handlers.cpp
            libc++abi: terminating due to uncaught exception of type std::bad_alloc
gives-up (end): the interpreter or the heap ends the process, and takes all handlers down first
    ^Fatal Python error:[ ]
        CPython | zoo: has the interpreter give up | Fatal Python error: deallocating None
    ^(?:free|malloc|realloc)\(\):[ ]
        glibc's malloc | zoo: frees what it did not get from the heap | free(): invalid pointer
    ^terminate called[ ]
        libstdc++ | zoo: calls a virtual function of what is not there yet
            terminate called without an active exception
fatal-signal (end): Python's own writer of stacks names the signal
    Fatal Python error: (Segmentation fault|Aborted|Bus error|Floating[- ]point exception|Illegal instruction)
        CPython's faulthandler | zoo: calls a function of a library that it has closed
            Fatal Python error: Segmentation fault
segfault (end): Linux writes down a fault: the address, the stack pointer, the library
    segfault at ([0-9a-f]+) ip \S+ sp ([0-9a-f]+)(?:.* in (\S+?)\[)?
        Linux on x86 | zoo: calls a function of a library that it has closed
            python[5023]: segfault at 7f2c2eafd0f9 ip 00007f2c2eafd0f9 sp 00007fff85133e48 error 14
memory-failed: Linux writes down that the machine's memory failed
    hardware memory corruption|Memory failure
        Linux | Linux: mm/memory-failure.c
            Memory failure: 0x1f2a3b: Sending SIGBUS to python:4242 due to hardware memory corruption
    [Uu]ncorrect(?:ed|able)|UE (?:memory|page)
        Linux, EDAC | Linux: drivers/edac/edac_mc.c | EDAC MC0: 1 UE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0
    Machine check|MCE.*Fatal|Hardware Error
        Linux, MCE | Linux: arch/x86/kernel/cpu/mce/core.c | mce: [Hardware Error]: Machine check events logged
memory-corrected: an error of the memory that the machine corrected: a warning
    (?a)[Cc]orrected error|CE memory|\bCE\b|soft-offlin
        Linux, EDAC | Linux: drivers/edac/edac_mc.c | EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0
line-of-a-stack: a line of a native stack, which follows the words of who gives up
    ^(?:\s|frame #|#\d|\[0x|\S+\(.*\)\s*\[0x)
        glibc's backtrace_symbols, PyTorch | PyTorch: c10/util/Backtrace.cpp
            frame #1: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f0c in /lib/libc10.so)
command-name: the first word of a command line
    [\w./+-]+
        who runs a command | Python: subprocess.CalledProcessError.cmd | ['/usr/bin/ffmpeg', '-i', 'a.mp4']
"""
