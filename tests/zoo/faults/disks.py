"""Disks that are full; what is raised then does not always say so."""

from tests.zoo.fault import Fault, Place

SMALL_DISK = Place(disks=(("disk", "size=4m"),))


def full(name: str, body: str, *, place: Place = SMALL_DISK, needs: tuple[str, ...] = ()) -> Fault:
    """A program that saves to `disk`, below its working directory, until there is no more room."""
    program = f"from training import begin, log\nbegin()\n{body}\n"
    return Fault(name=name, program=program, ends=(1,), state="failed", cause="disk-full", place=place, needs=needs)


FAULTS = [
    full(
        "writes a checkpoint to a full disk",
        "with open('disk/checkpoint.bin', 'wb') as file:\n    file.write(bytes(16 << 20))",
    ),
    full(
        "appends to a file until the disk is full",
        "file = open('disk/predictions.csv', 'w')\nwhile True:\n    file.write('0.1,0.2,0.3\\n' * 1000); file.flush()",
    ),
    full(
        "saves an array with numpy to a full disk",
        "import numpy\nnumpy.save('disk/features.npy', numpy.zeros(4 << 20))",
    ),
    full(
        "saves a model with torch to a full disk",
        "import torch\ntorch.save(torch.nn.Linear(2048, 2048).state_dict(), 'disk/model.pt')",
        needs=("torch",),
    ),
    full(
        "makes more files than the disk has inodes",
        "for number in range(1000):\n    open(f'disk/sample-{number}.txt', 'w').close()",
        place=Place(disks=(("disk", "size=4m,nr_inodes=100"),)),
    ),
    full(
        "writes to a database on a full disk",
        "import sqlite3\n"
        "database = sqlite3.connect('disk/trials.db')\n"
        "database.execute('CREATE TABLE trial (value BLOB)')\n"
        "database.execute('INSERT INTO trial VALUES (?)', (bytes(8 << 20),))\n"
        "database.commit()",
    ),
]
