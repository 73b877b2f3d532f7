"""Journals that no holter wrote: every field of every record at its extremes, made from the types of the records."""

import struct
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from holter.journal.frame import ROW, SYNC, Header, encode_body, encode_header, encode_record, sealed
from holter.model.evidence import SOURCES
from holter.model.record import Record
from holter.model.records import (
    FIRST_PACKED,
    KINDS,
    LASTING,
    LOOSE_ROW,
    NUMBERS,
    Declared,
    Described,
    Exited,
    Facts,
    Finished,
    Flushed,
    Launched,
    Looked,
    Opened,
)

INTEGERS = (-1, 0, 1 << 31, 1 << 53, (1 << 62) + 1, (1 << 63) - 1, -(1 << 63), 1 << 63, (1 << 64) - 1)
FLOATS = (float("nan"), float("inf"), float("-inf"), -0.0, -1.0, 1e308, 5e-324)
# Our msgpack can't say a lone surrogate: the bytes of one take the place of these letters.
_SURROGATE, _SURROGATE_BYTES = "~!~", b"\xed\xa0\x80"
LONG = "x" * (1 << 20)
TEXTS = (
    "",
    "\0",
    f"lone {_SURROGATE}",
    "\u202egnp.exe\u2066",
    LONG,
    "\x1b]0;t\x07\x1b[2J\r\n",
    "'; DROP TABLE run; --",
)
PID = (1 << 22) + 9
# What the fields of records point at, so that a forged one beside them is believed.
_SENSIBLE = {
    "pid": PID,
    "host": "far-away",
    "boot_id": "their-boot",
    "process_started": 1,
    "source": "wait",
    "where": "main",
    "how": "finish",
    "state": "crashed",
    "kind": "shutdown",
    "status": 9,
    "signal": 15,
    "writer": "client",
}
_FACTS = (
    "command script git schedulers packages gpus container os kernel python cwd cpu_count environment"
    " memory_total_bytes cgroup_memory_limit_bytes cgroup_cpu_limit shared_memory_bytes"
).split()
_SAMPLED = (
    "system/process/anon_bytes system/process/rss_bytes system/host/memory_total_bytes system/host/swap_free_bytes"
    " system/host/oom_kill system/gpu/0/memory_used_bytes system/disk/free_bytes system/psi/memory_full_avg10"
).split()
_AT_ONCE = 12

Tree = Any
"""Whatever msgpack can say."""


def _nested(depth: int) -> Tree:
    found: Tree = 1
    for _ in range(depth):
        found = {"a": [found]}
    return found


ODD: tuple[Tree, ...] = (
    None,
    b"\xff\xfe",
    [],
    {},
    {1: 2, None: 3, 2.5: 4},
    {(1, 2): 3},
    msgspec.msgpack.Ext(5, b"abc"),
    msgspec.Raw(b"\xd7\xff" + b"\xff" * 8),  # a time that is none
    ["x", None, [float("nan")], {"y": b"z"}],
    _nested(20),
    _nested(400),
    list(range(5000)),
    {f"k{number}": number for number in range(3000)},
)


class Kind(NamedTuple):
    """One field with one value, and the frame that says so."""

    what: str
    frame: bytes


class Forged(NamedTuple):
    """A run with its journals, and which kinds are in them."""

    run: str
    journals: dict[str, bytes]
    kinds: tuple[str, ...]


class Forger:
    """Makes runs that begin at a moment; each is the only one of its id."""

    def __init__(self, at_ns: int) -> None:
        self._at_ns = at_ns
        self._made = 0

    def runs(self) -> Iterator[Forged]:
        """Every kind at least once; those that do not hide each other are in one run."""
        for number, record in KINDS.items():
            kinds = list(self._kinds(number, record))
            size = _AT_ONCE if record in (*LASTING, Flushed) and record not in (Exited, Finished) else 1
            for start in range(0, len(kinds), size):
                yield self._run(kinds[start : start + size], is_opened=record is not Opened)
        for kind in (*self._findings(), *self._facts()):
            yield self._run([kind])
        for kind in (*self._loose_rows(), *self._packed_rows()):
            yield self._run([kind])
        for value in (*INTEGERS, *FLOATS, *TEXTS):
            yield self._run([Kind(f"sample={_short(value)}", self._row(3, dict.fromkeys(_SAMPLED, value)))], "sidecar")

    def headers(self) -> Iterator[Forged]:
        """Segments whose headers lie."""
        for name in ("base", "created_ns", "segment"):
            for value in INTEGERS:
                if 0 <= value < 1 << (32 if name == "segment" else 64):
                    yield self._run([Kind(f"header.{name}={value}", b"")], header={name: value})

    def _run(
        self,
        kinds: Sequence[Kind],
        writer: str = "client",
        *,
        is_opened: bool = True,
        header: dict[str, int] | None = None,
    ) -> Forged:
        self._made += 1
        run, names = f"forged-{self._made}", [self._name(self._made, part) for part in (0, 1)]
        ours = [frame for _, frame in kinds if frame]
        theirs = [] if is_opened else ours
        parts = [*self._beginning(run), *ours] if is_opened else [*theirs, *self._beginning(run)[1:]]
        if writer == "sidecar":
            parts = self._beginning(run)
        journals = {names[0]: self._segment(names[0], [*parts, *self._end(names[0], kinds)], header or {})}
        if writer == "sidecar":
            journals[names[1]] = self._segment(names[1], [self._opened(run, writer), *ours], {})
        return Forged(run, journals, tuple(what for what, _ in kinds))

    def _name(self, number: int, part: int) -> str:
        return uuid.uuid5(uuid.NAMESPACE_OID, f"{number} {part}").hex

    def _beginning(self, run: str) -> list[bytes]:
        described = Described(at_ns=self._at_ns, project="p", name=run, started_ns=self._at_ns)
        return [self._opened(run, "client"), encode_record(described), self._row(3, {"loss": 0.5})]

    def _end(self, journal: str, kinds: Sequence[Kind]) -> list[bytes]:
        """Half of the runs die: then it is asked why."""
        is_said = any(what.startswith(("Exited", "Finished", "Opened")) for what, _ in kinds)
        if is_said or self._made % 2:
            return []
        return [encode_record(Exited(at_ns=self._at_ns + 2, journal=journal, pid=PID, source="wait", status=9))]

    def _segment(self, journal: str, bodies: list[bytes], header: dict[str, int]) -> bytes:
        fields = {"segment": 1, "base": 0, "created_ns": self._at_ns} | header
        head = encode_header(Header(journal=bytes.fromhex(journal), **fields))
        # A record about the end of a process names its journal.
        return head + b"".join(sealed(body.replace(b"j" * 32, journal.encode())) for body in bodies)

    def _opened(self, run: str, writer: str) -> bytes:
        opened = Opened(
            at_ns=self._at_ns,
            run=run,
            writer=writer,
            host="far-away",
            boot_id="their-boot",
            pid=PID if writer == "client" else PID + 1,
            process_started=1,
            holter="0",
        )
        return encode_record(opened)

    def _row(self, step: int, values: Tree) -> bytes:
        return encode_body(LOOSE_ROW, _pack([step, self._at_ns, values]))

    def _kinds(self, number: int, record: type[Record]) -> Iterator[Kind]:
        known = self._example(record)
        for name, value in self._fields(record):
            yield Kind(f"{record.__name__}.{name}={_short(value)}", encode_body(number, _pack({**known, name: value})))

    def _findings(self) -> Iterator[Kind]:
        for source, finding in SOURCES.items():
            known = self._example(finding)
            for name, value in self._fields(finding):
                yield self._looked(source, {**known, name: value}, f"{source}.{name}={_short(value)}")

    def _looked(self, source: str, found: Tree, what: str) -> Kind:
        said = {**self._example(Looked), "source": source, "found": found, "because": "", "remedy": ""}
        return Kind(what, encode_body(NUMBERS[Looked], _pack(said)))

    def _facts(self) -> Iterator[Kind]:
        for name in _FACTS:
            for value in (7, "text", [1, None], {"x": [1]}, float("inf"), [{"name": 5}], {"devices": 3}):
                said = {"at_ns": self._at_ns, "facts": {name: value}}
                yield Kind(f"fact.{name}={value}", encode_body(NUMBERS[Facts], _pack(said)))

    def _loose_rows(self) -> Iterator[Kind]:
        for at, name in enumerate(("step", "at_ns")):
            for number in INTEGERS:
                row: Tree = [7, self._at_ns, {"v": 1.0, "w": 2}]
                row[at] = number
                yield Kind(f"row.{name}={number}", encode_body(LOOSE_ROW, _pack(row)))
        for value in (*INTEGERS, *FLOATS, *TEXTS, *ODD):
            yield Kind(f"row.value={_short(value)}", self._row(7, {"v": value}))
        for key in TEXTS:
            yield Kind(f"row.key={_short(key)}", self._row(7, {key: 1.0}))

    def _packed_rows(self) -> Iterator[Kind]:
        declared = sealed(encode_record(Declared(at_ns=0, number=0, keys=("packed",), types="d")))
        layout = struct.Struct(ROW.format + "d")
        rows: list[tuple[int, int, float]] = [(number, self._at_ns, 1.0) for number in INTEGERS if number < 1 << 63]
        rows += [(7, number, 1.0) for number in INTEGERS if number >= 0]
        rows += [(7, self._at_ns, number) for number in FLOATS]
        for row in rows:
            body = layout.pack(SYNC, FIRST_PACKED, layout.size - 8, *row)
            yield Kind(f"packed={row}", declared + sealed(body) + body)

    def _fields(self, of: type) -> Iterator[tuple[str, Tree]]:
        for field in msgspec.structs.fields(of):
            info = inspect.type_info(field.type)
            for value in (*self._values(info), 5 if isinstance(info, inspect.StrType) else "not this"):
                yield field.encode_name, value

    def _example(self, of: type) -> dict[str, Tree]:
        """What can be read."""
        known: dict[str, Tree] = {"journal": "j" * 32, **_SENSIBLE}
        if of in (Launched, Finished):
            known.pop("status")
        found = {}
        for field in msgspec.structs.fields(of):
            plain = self._at_ns + 1 if field.name.endswith("_ns") else _plain(inspect.type_info(field.type), self)
            found[field.encode_name] = known.get(field.name, plain)
        return found

    def _values(self, info: inspect.Type) -> Iterator[Tree]:
        match info:
            case inspect.ListType() | inspect.VarTupleType():
                yield from ([], [_plain(info.item_type, self)] * 300)
                yield from ([value] for value in self._values(info.item_type))
            case inspect.DictType():
                yield {}
                yield from ({"x": value} for value in self._values(info.value_type))
                yield from ({text: 1} for text in TEXTS)
            case inspect.StructType():
                known = self._example(info.cls)
                yield from ({**known, name: value} for name, value in self._fields(info.cls))
            case inspect.UnionType():
                for inner in info.types:
                    yield from self._values(inner)
            case _:
                yield from _SCALARS[type(info)]


_SCALARS: dict[type[inspect.Type], tuple[Tree, ...]] = {
    inspect.IntType: INTEGERS,
    inspect.FloatType: FLOATS,
    inspect.StrType: TEXTS,
    inspect.AnyType: (*INTEGERS, *FLOATS, *TEXTS, *ODD),
    inspect.BoolType: (),
    inspect.NoneType: (),
}
_PLAIN: dict[type[inspect.Type], Tree] = {
    inspect.IntType: 1,
    inspect.FloatType: 1.0,
    inspect.StrType: "x",
    inspect.AnyType: 1,
    inspect.BoolType: False,
}


def _plain(info: inspect.Type, forger: Forger) -> Tree:
    match info:
        case inspect.ListType() | inspect.VarTupleType():
            return [_plain(info.item_type, forger)]
        case inspect.DictType():
            return {"x": _plain(info.value_type, forger)}
        case inspect.StructType():
            return forger._example(info.cls)
        case inspect.UnionType():
            return _plain(info.types[0], forger)
    return _PLAIN[type(info)]


def _pack(value: Tree) -> bytes:
    return msgspec.msgpack.encode(value).replace(_SURROGATE.encode(), _SURROGATE_BYTES)


def _short(value: Tree) -> str:
    return repr(value)[:60]
