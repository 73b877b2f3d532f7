"""Disks, files and the numbers of the operating system's errors."""

TABLE = r"""
room-lacking: the operating system has no room for a file
    [Nn]o space left on device
        glibc, for ENOSPC | zoo: prints frightening text | No space left on device
    [Dd]isk quota exceeded
        glibc, for EDQUOT | glibc: sysdeps/gnu/errlist.h | OSError: [Errno 122] Disk quota exceeded
database-full (end): the disk, or a database that has a limit of its own (`max_page_count`)
    database or disk is full
        SQLite | zoo: keeps its features in a database that may have ten pages
            sqlite3.OperationalError: database or disk is full
disk-full (end): a file system has no room left
    + room-lacking
    + database-full
    Not enough free space
        NumPy's tofile | zoo: writes a raw array to a full disk
            OSError: Not enough free space to write 16777216 bytes after offset 0
write-failed (end): a write failed, and nobody says why: on a full disk it reads like this
    unexpected pos \d+ vs \d+|PytorchStreamWriter failed
        PyTorch's torch.save from 1.6 on | zoo: saves a model that is larger than a file may be
            RuntimeError: [enforce fail at inline_container.cc:672] . unexpected pos 832 vs 726
    \d+ requested and \d+ written
        NumPy's tofile | NumPy: numpy/_core/src/multiarray/convert.c | OSError: 1048576 requested and 4080 written
    iostream error|basic_ios::clear
        libstdc++ | zoo: saves a model that is larger than a file may be
            RuntimeError: basic_ios::clear: iostream error
    file write failed|[Uu]nable to (?:write|flush|extend|synchronously (?:write|flush))
        HDF5, h5py | HDF5: src/H5FDsec2.c
            OSError: Can't synchronously write data (file write failed: time = Mon Nov 16 10:00:00 2026, filename = 'a
    short write
        gzip, Go's io | Go: io/io.go, ErrShortWrite | gzip: short write
    [Ww]rote only \d+ of \d+
        GNU tar | zoo: packs a directory with tar, which finds the disk full
            tar: disk/samples.tar: Wrote only 6144 of 10240 bytes
bytes-to-write: how many bytes were to be written
    (?:write|allocate) (\d+) bytes
        NumPy and others | zoo: writes a raw array to a full disk
            OSError: Not enough free space to write 16777216 bytes after offset 0
command-failed (end): a command that the program ran has failed, and said why on its own stderr
    CalledProcessError: .*returned non-zero exit status
        Python's subprocess | zoo: runs cp, which finds the disk full
            subprocess.CalledProcessError: Command '['cp', 'model.bin', 'disk/']' returned non-zero exit status 1.
no-disk: there is no room in something that is no disk
    shared memory|/dev/shm|torch_shm
        PyTorch | zoo: has torch share tensors in a small /dev/shm
            RuntimeError: unable to allocate shared memory(shm) for file </torch_6528_2383444860_1>: No space left
    inotify|ENOSPC.*watch
        watchers of files | watchdog: src/watchdog/observers/inotify_c.py
            OSError: [Errno 28] inotify watch limit reached
errno: the number of an error of the operating system
    \[Errno (\d+)\]
        Python | zoo: writes a file that is larger than it may be | OSError: [Errno 27] File too large
    errno ?[=:] ?(\d+)
        HDF5 and others | HDF5: src/H5FDsec2.c | file write failed: time = ..., errno = 28, error message =
    \(os error (\d+)\)
        Rust | zoo: writes a frame with polars to a full disk | OSError: No space left on device (os error 28)
    Error code (\d+) \(
        PyTorch | zoo: asks torch for more than its shell allows
            DefaultCPUAllocator: can't allocate memory: you tried to allocate 25769803776 bytes. Error code 12 (Cannot
    Os \{ code: (\d+),
        Rust | zoo: has a library of Rust that may not start its threads
            threads: ThreadPoolBuildError { kind: IOError(Os { code: 11, kind: WouldBlock, message: "Resource temporar
    \((\d+)\)(?:\s|$)
        PyTorch | zoo: has torch share tensors in a small /dev/shm
            unable to allocate shared memory(shm) for file </torch_6528_2383444860_1>: No space left on device (28)
errno-of-python: an error of the operating system as Python writes it: the number, and its words
    \[Errno (\d+)\] ([A-Z][a-z ]+[a-z])
        Python | zoo: writes a file that is larger than it may be | OSError: [Errno 27] File too large
errno-first: the number with which a message of Python's own begins
    ^\[Errno (\d+)\]
        Python | zoo: writes a file that is larger than it may be | [Errno 27] File too large
cannot-open: a library can't open a file, and keeps the number of the error to itself; it proves nothing by itself
    (?i)(?:unable|failed|not able) to open
        SQLite, HDF5 | zoo: cannot open its database because too many files are open
            sqlite3.OperationalError: unable to open database file
    (?i)(?:can(?:no|')t|could not|couldn't) open
        glibc's loader and others | zoo: loads a library of a driver that is not installed
            OSError: libcudnn_ops.so.9: cannot open shared object file: No such file or directory
files-lacking: the operating system has no descriptor left
    Too many open files
        glibc, for EMFILE and ENFILE | zoo: makes an event loop for every request
            OSError: [Errno 24] Too many open files
too-many-files: no descriptor is left
    + files-lacking
    EMFILE
        Node.js, libuv | libuv: include/uv.h | Error: EMFILE: too many open files, open 'a.txt'
    ulimit -n
        PyTorch from 1.2 on | zoo: keeps the batches of a data loader until there is no file left to pass them in
            longer possible. Please increase the limit using `ulimit -n` in the shell or change the sharing strategy
descriptors-lost (end): descriptors that were sent did not arrive: who gets them has too many
    received \d+ items of ancdata
        Python's multiprocessing | CPython: Lib/multiprocessing/reduction.py | RuntimeError: received 0 items of ancdata
    unable to open shared memory object
        PyTorch | PyTorch: aten/src/ATen/MapAllocator.cpp
            RuntimeError: unable to open shared memory object </torch_29919_1396182366> in read-write mode
storage-failed: a disk or a network mount failed: the number of the error, and the path
    \[Errno (?P<number>5|30|116|121|61)\] [^:\n]+(?P<path>: b?['\"][^\n]+)?
        Python | zoo: ignores that its terminal went and cannot print any more | OSError: [Errno 5] Input/output error
    (?P<stale>Stale (?:NFS )?file handle)
        glibc, for ESTALE | glibc: sysdeps/gnu/errlist.h | OSError: [Errno 116] Stale file handle
    Input/output error
        glibc, for EIO | zoo: ignores that its terminal went and cannot print any more
            OSError: [Errno 5] Input/output error
    errno = (?P<number>5|30|116),
        HDF5 | HDF5: src/H5FDsec2.c
            file read failed: filename = 'a.h5', file descriptor = 4, errno = 5, error message =
writes-to-terminal: a statement that prints or reads on a terminal
    print\(|stdout|stderr|sys\.std|input\(|\.write_line|tqdm|logging
        Python programs | zoo: gives a class that its loss does not have |     print(loss.item())
storage-failed-in-linux: Linux writes down that a device or a file system failed
    I/O error
        Linux | zoo: does not hear that its CPU time is over and is killed for it
            Buffer I/O error on device loop0, logical block 7681
    EXT4-fs error|remount.*read-only
        Linux, ext4 | Linux: fs/ext4/super.c
            EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm python: reading directory lblock 0
    XFS.*(?:corruption|shut(?:ting)? down)
        Linux, XFS | Linux: fs/xfs/xfs_error.c
            XFS (sdb1): Metadata corruption detected at xfs_agf_read_verify+0x70/0x120
    BTRFS.*error
        Linux, Btrfs | Linux: fs/btrfs/disk-io.c | BTRFS error (device sdb): parent transid verify failed
    nfs: server .* not
        Linux, NFS | Linux: net/sunrpc/clnt.c | nfs: server files not responding, still trying
path: a file's path
    '(/[^']+)'|\"(/[^\"]+)\"|<(/[^>]+)>|(?<![\w.])(/(?:[\w.+-]+/)*[\w.+-]+)
        who names a file | zoo: has torch share tensors in a small /dev/shm
            unable to allocate shared memory(shm) for file </torch_6528_2383444860_1>: No space left on device (28)
two-writers: another process has the same file open for writing
    unable to lock file|unable to truncate a file which is already open|file is already open
        HDF5, h5py | HDF5: src/H5FDsec2.c
            BlockingIOError: [Errno 11] Unable to synchronously open file (unable to lock file, errno = 11)
    database is locked
        SQLite | zoo: waits for a locked database until it is free | retrying: database is locked
"""
