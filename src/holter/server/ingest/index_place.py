"""Where the index of a data directory lies: beside the runs, but never on a network file system."""

import hashlib
import os
from collections.abc import Mapping

from holter.journal.filesystem import file_system

# SQLite's processes share memory through a file, which these can't.
NETWORK = frozenset(
    "nfs nfs4 cifs smb3 smbfs ncpfs afs ceph lustre gpfs beegfs glusterfs 9p fuse.sshfs fuse.s3fs".split()
)


def index_directory(data: str, environ: Mapping[str, str]) -> str:
    """`index` in the data directory, or a folder of the local cache where that is on a network."""
    place = data
    while not os.path.exists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    if file_system(place) not in NETWORK:
        return os.path.join(data, "index")
    cache = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    name = hashlib.blake2b(os.path.realpath(data).encode(), digest_size=8).hexdigest()
    return os.path.join(cache, "holter", f"index-{name}")
