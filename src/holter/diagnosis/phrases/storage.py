"""Disks, files and the numbers of the operating system's errors."""

TABLE = r"""
room-lacking: the operating system has no room for a file
    [Nn]o space left on device  # glibc, for ENOSPC
    [Dd]isk quota exceeded  # glibc, for EDQUOT
database-full (end): the disk, or a database that has a limit of its own (`max_page_count`)
    database or disk is full  # SQLite
disk-full (end): a file system has no room left
    + room-lacking
    + database-full
    Not enough free space  # NumPy's tofile
write-failed (end): a write failed, and nobody says why: on a full disk it reads like this
    unexpected pos \d+ vs \d+|PytorchStreamWriter failed  # PyTorch's torch.save from 1.6 on
    \d+ requested and \d+ written  # NumPy's tofile
    iostream error|basic_ios::clear  # libstdc++
    file write failed|[Uu]nable to (?:write|flush|extend|synchronously (?:write|flush))  # HDF5, h5py
    short write  # programs in Go
    [Ww]rote only \d+ of \d+  # GNU tar
bytes-to-write: how many bytes were to be written
    (?:write|allocate) (\d+) bytes  # NumPy and others
command-failed (end): a command that the program ran has failed, and said why on its own stderr
    CalledProcessError: .*returned non-zero exit status  # Python's subprocess
no-disk: there is no room in something that is no disk
    shared memory|/dev/shm|torch_shm  # PyTorch
    inotify|ENOSPC.*watch  # watchers of files
errno: the number of an error of the operating system
    \[Errno (\d+)\]  # Python
    errno ?[=:] ?(\d+)  # HDF5 and others
    \(os error (\d+)\)  # Rust
    Error code (\d+) \(  # PyTorch
    Os \{ code: (\d+),  # Rust
    \((\d+)\)(?:\s|$)  # PyTorch
errno-of-python: an error of the operating system as Python writes it: the number, and its words
    \[Errno (\d+)\] ([A-Z][a-z ]+[a-z])  # Python
errno-first: the number with which a message of Python's own begins
    ^\[Errno (\d+)\]  # Python
cannot-open: a library can't open a file, and keeps the number of the error to itself; it proves nothing by itself
    (?i)(?:unable|failed|not able) to open  # SQLite, HDF5
    (?i)(?:can(?:no|')t|could not|couldn't) open  # glibc's loader and others
files-lacking: the operating system has no descriptor left
    Too many open files  # glibc, for EMFILE and ENFILE
too-many-files: no descriptor is left
    + files-lacking
    EMFILE  # Node.js, libuv
    ulimit -n  # PyTorch from 1.2 on
descriptors-lost (end): descriptors that were sent did not arrive: who gets them has too many
    received \d+ items of ancdata  # Python's multiprocessing
    unable to open shared memory object  # PyTorch
storage-failed: a disk or a network mount failed: the number of the error, and the path
    \[Errno (?P<number>5|30|116|121|61)\] [^:\n]+(?P<path>: b?['\"][^\n]+)?  # Python
    (?P<stale>Stale (?:NFS )?file handle)  # glibc, for ESTALE
    Input/output error  # glibc, for EIO
    errno = (?P<number>5|30|116),  # HDF5
writes-to-terminal: a statement that prints or reads on a terminal
    print\(|stdout|stderr|sys\.std|input\(|\.write_line|tqdm|logging  # Python programs
storage-failed-in-linux: Linux writes down that a device or a file system failed
    I/O error  # Linux
    EXT4-fs error|remount.*read-only  # Linux, ext4
    XFS.*(?:corruption|shut(?:ting)? down)  # Linux, XFS
    BTRFS.*error  # Linux, Btrfs
    nfs: server .* not  # Linux, NFS
path: a file's path
    '(/[^']+)'|\"(/[^\"]+)\"|<(/[^>]+)>|(?<![\w.])(/(?:[\w.+-]+/)*[\w.+-]+)  # who names a file
two-writers: another process has the same file open for writing
    unable to lock file|unable to truncate a file which is already open|file is already open  # HDF5, h5py
    database is locked  # SQLite
"""
