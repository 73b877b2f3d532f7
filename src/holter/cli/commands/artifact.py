"""List, get, put, remove and verify versions of models, datasets and other files.

`holter artifact ls` lists what there is, `ls NAME` the versions of one, `ls NAME:VERSION` the files of a version. `get`
writes files, each checked; `put` keeps a file or folder and waits until it is whole; `rm` moves a version to the trash
for seven days, from which `restore` takes it; `alias` names a version or, with --protect, keeps it from being deleted;
`verify` reads every piece, or with --root compares a folder; `gc` frees what no version names. NAME is name:alias or
project/name:v3. With --server `ls` and `get` look on the server of `holter login` or HOLTER_URL.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

from holter.artifacts.artifact import Sealed
from holter.artifacts.asks import Answer, Ask, read_answer, submit
from holter.artifacts.book import Book, Keep, Version, check_keep
from holter.artifacts.collecting import collect
from holter.artifacts.editing import protect
from holter.artifacts.far import open_far
from holter.artifacts.fetching import Reading, changed_files, differences, download
from holter.artifacts.names import ArtifactName, parse_name
from holter.artifacts.store import Store
from holter.artifacts.wishes import Source, Wanted, state_of, walk
from holter.artifacts.working_off import work_off, write_down
from holter.cli.choice import open_catalog
from holter.cli.figures import age, clean, plural, size
from holter.cli.parser import add_json
from holter.cli.stdout import look, print_json
from holter.cli.table import Cell, Column, render
from holter.errors import ArtifactDamaged, NotSealed, UsageError
from holter.recording.login import find_upload
from holter.recording.settings import read_settings

GROUP = "keep"
WITHIN_S = 24 * 3600.0


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("act", choices=list(ACTS), help="what to do")
    parser.add_argument("name", metavar="NAME", nargs="?", help="name, name:alias, or project/name:v3")
    parser.add_argument("rest", metavar="PATH", nargs="?", help="put: the file or folder; alias: the alias")
    parser.add_argument("--project", metavar="PROJECT", help="where the name has none (default: the only one)")
    parser.add_argument("--type", default="", metavar="TYPE", help="put: model, dataset, … (default: unspecified)")
    parser.add_argument("--alias", action="append", default=[], help="put: a name for the version; repeatable")
    parser.add_argument(
        "--root", metavar="FOLDER", help="get: where to (default: artifacts/NAME:VERSION); verify: what"
    )
    parser.add_argument("--keep", type=int, default=0, metavar="N", help="put: from now on keep the last N versions")
    parser.add_argument(
        "--best", default="", metavar="METRIC", help="put: and the best one by this number of the metadata"
    )
    parser.add_argument("--protect", action="store_true", help="alias: its version can't be deleted")
    parser.add_argument("--remove", action="store_true", help="alias: take it away")
    parser.add_argument("--server", action="store_true", help="ls, get: those of the server instead of this machine's")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Do one of them."""
    store = Store(open_catalog().data)
    if args.name is None and args.act not in ("ls", "gc", "verify"):
        raise UsageError(f"write `holter artifact {args.act} NAME`; `holter artifact ls` lists the names")
    if args.server:
        return _on_server(store, args)
    return ACTS[args.act](store, args)


def _on_server(store: Store, args: argparse.Namespace) -> int:
    settings = read_settings({}, os.environ)
    upload = find_upload(settings)
    if upload is None:
        raise UsageError("which server? `holter login URL` sets it, or HOLTER_URL and HOLTER_API_KEY")
    far = open_far(upload.url, upload.key, data=os.path.dirname(store.root))
    project = args.project or settings.project
    if args.act == "ls" and args.name is None:
        return _print_names(args, far.books(project))
    if args.act not in ("ls", "get"):
        raise UsageError(f"--server goes with ls and get; `holter artifact {args.act}` is for those of this machine")
    wanted = parse_name(args.name, project=project)
    if args.act == "ls" and ":" not in args.name:
        book = far.book(wanted.project, wanted.name)
        return _print(args, _book_json(book), _versions_table(book))
    found = far.find(wanted)
    return _print_files(args, found) if args.act == "ls" else _download(args, found)


def _named(store: Store, args: argparse.Namespace) -> ArtifactName:
    found = parse_name(args.name, project=args.project or "")
    if found.project:
        return found
    there = store.projects_with(found.name)
    if len(there) > 1:
        raise UsageError(f"{found.name} is in {', '.join(there)}: write project/{found.name}, or add --project")
    return parse_name(args.name, project=there[0] if there else "uncategorized")


def _list(store: Store, args: argparse.Namespace) -> int:
    if args.name is None:
        return _print_names(args, [book for book in store.all_books() if args.project in (None, book.project)])
    wanted = _named(store, args)
    book = store.book(wanted.project, wanted.name)
    if ":" in args.name:
        return _print_files(args, Sealed(store, book, book.find(wanted.alias)))
    return _print(args, _book_json(book), _versions_table(book))


def _print_names(args: argparse.Namespace, books: list[Book]) -> int:
    return _print(args, {"artifacts": [_book_json(book) for book in books]}, _names_table(books))


def _print_files(args: argparse.Namespace, found: Sealed) -> int:
    entries = found.manifest().entries
    files = [{"path": e.path, "bytes": e.bytes, "digest": e.digest, "reference": e.reference or None} for e in entries]
    rows = [
        [Cell(size(e.bytes)), Cell(clean(e.path)), Cell(clean(e.reference or e.digest[:19]), "dim")] for e in entries
    ]
    columns = [Column("SIZE", is_right=True), Column("FILE", least=12), Column("CONTENT")]
    told = {**_version_json(found.book, found.version), "files": files}
    return _print(args, told, render(columns, rows, look=look()))


def _get(store: Store, args: argparse.Namespace) -> int:
    wanted = _named(store, args)
    book = store.book(wanted.project, wanted.name)
    return _download(args, Sealed(store, book, book.find(wanted.alias)))


def _download(args: argparse.Namespace, found: Sealed) -> int:
    book, version, manifest = found.book, found.version, found.manifest()
    folder = os.path.abspath(args.root or os.path.join("artifacts", f"{book.name}:{version.name}"))
    only = changed_files(manifest, folder) if os.path.lexists(folder) else None
    with found.reading(only) as read:
        written = download(manifest, read, folder, only=only)
    left = [entry.reference for entry in manifest.entries if entry.reference]
    said = [f"{plural(len(written), 'file')} of {book.name}:{version.name} written to {clean(folder)}"]
    said += [f"not kept here, only referred to: {clean(address)}" for address in left]
    return _print(
        args, {**_version_json(book, version), "folder": folder, "written": written, "references": left}, said
    )


def _put(store: Store, args: argparse.Namespace) -> int:
    if args.rest is None:
        raise UsageError("write `holter artifact put NAME PATH`: the file or folder that is to be kept")
    wanted, path = _named(store, args), os.path.abspath(os.path.expanduser(args.rest))
    if not os.path.exists(path):
        raise UsageError(f"there is no {path} to be kept")
    found = walk(path) if os.path.isdir(path) else [(os.path.basename(path), os.stat(path), path)]
    sources = tuple(Source(name, at, state_of(status), bytes=status.st_size) for name, status, at in found)
    known, ask = store.look(wanted.project, wanted.name), os.urandom(8).hex()
    keep = check_keep(Keep(last=args.keep, best=args.best)) if args.keep or args.best else None
    asked = Wanted(
        project=wanted.project,
        name=wanted.name,
        type=args.type or (known.type if known else "unspecified"),
        at_ns=time.time_ns(),
        ask=ask,
        aliases=tuple(args.alias),
        keep=keep,
    )
    data = os.path.dirname(store.root)
    submit(data, Ask(wanted=asked, sources=sources))
    said = _answer(data, ask, args.rest)
    book = store.book(wanted.project, wanted.name)
    version = book.of_number(said.number)
    new = f", {size(said.new_bytes)} of it new" if said.new_bytes < said.bytes else ""
    return _print(
        args, _version_json(book, version), [f"{book.project}/{book.name}:{version.name}, {size(version.bytes)}{new}"]
    )


def _answer(data: str, ask: str, path: str) -> Answer:
    """What became of a wish, once it is worked off. Raises NotSealed where that can't be now, or ever."""
    until, last = time.monotonic() + WITHIN_S, list[tuple[str, str]]()

    def tell(each: Ask, said: Answer) -> None:
        last[:] = [(each.wanted.ask, said.why)]
        write_down(each, said)

    while (said := read_answer(data, ask)) is None and time.monotonic() < until:
        work_off(data, tell=tell)
        if last and read_answer(data, ask) is None and read_answer(data, last[0][0]) is None:
            raise NotSealed(f"{path} is not kept yet: {last[0][1]}; once that can be, `holter sync` goes on with it")
        time.sleep(0.02)
    if said is None or said.number < 0:
        raise NotSealed(f"{path} was not kept: {said.why if said else 'another process does not come to an end'}")
    return said


def _remove(store: Store, args: argparse.Namespace) -> int:
    wanted = _named(store, args)
    with store.change(wanted.project, wanted.name) as book:
        chosen = [book.find(wanted.alias)] if ":" in args.name else book.live()
        numbers = [version.number for version in chosen]
        for number in numbers:
            book.trash(number, at_ns=time.time_ns())
    words = ", ".join(f"{wanted.name}:v{number}" for number in numbers) or "nothing"
    told = {"project": wanted.project, "name": wanted.name, "trashed": [f"v{number}" for number in numbers]}
    return _print(args, told, [f"in the trash for 7 days: {words}; `holter artifact restore` brings it back"])


def _restore(store: Store, args: argparse.Namespace) -> int:
    wanted = _named(store, args)
    with store.change(wanted.project, wanted.name) as book:
        trashed = [v for v in book.versions if v.trashed_ns and (":" not in args.name or v.name == wanted.alias)]
        for version in trashed:
            book.restore(version.number)
    told = {"project": wanted.project, "name": wanted.name, "restored": [version.name for version in trashed]}
    return _print(args, told, [f"brought back: {', '.join(told['restored']) or 'nothing was in the trash'}"])


def _alias(store: Store, args: argparse.Namespace) -> int:
    if args.rest is None:
        raise UsageError("write `holter artifact alias NAME:VERSION ALIAS`")
    wanted = _named(store, args)
    with store.change(wanted.project, wanted.name) as book:
        before = book.aliases.get(args.rest)
        number = None if args.remove else book.find(wanted.alias).number
        book.move(args.rest, number, at_ns=time.time_ns())
        if args.protect and number is not None:
            protect(book, args.rest, is_on=True)
    was = f", which v{before.number} had" if before is not None and before.number != number else ""
    there = "nobody's" if number is None else f"v{number}"
    told = {"project": wanted.project, "name": wanted.name, "alias": args.rest, "version": number}
    return _print(args, told, [f"{wanted.name}:{args.rest} is {there} now{was}"])


def _verify(store: Store, args: argparse.Namespace) -> int:
    books = [store.book(w.project, w.name) for w in [_named(store, args)]] if args.name else []
    books = books or store.all_books()
    checked, damaged = 0, list[str]()
    for book in books:
        chosen = (
            [book.find(_named(store, args).alias)] if args.name and (":" in args.name or args.root) else book.versions
        )
        for version in chosen:
            checked += 1
            damaged += [
                f"{book.project}/{book.name}:{version.name}: {why}" for why in _damage(store, version, args.root)
            ]
    _print(args, {"versions": checked, "damaged": damaged}, damaged or [f"{plural(checked, 'version')} whole"])
    return 1 if damaged else 0


def _damage(store: Store, version: Version, folder: str | None) -> list[str]:
    try:
        manifest = store.manifest(version.digest)
        if folder is not None:
            return differences(manifest, folder)
        reading = Reading(manifest, store.pieces.read)
        for entry in manifest.entries:
            for _ in reading.parts(entry):
                pass
    except ArtifactDamaged as error:
        return [str(error)]
    return []


def _collect(store: Store, args: argparse.Namespace) -> int:
    done = collect(store, now_ns=time.time_ns())
    if done.trouble:
        raise ArtifactDamaged(f"nothing was removed: {done.trouble}")
    later = "" if done.is_done else "; somebody was publishing: pieces are removed the next time"
    told = {"pieces": done.pieces, "freed_bytes": done.bytes, "versions": done.versions, "done": done.is_done}
    return _print(args, told, [f"{size(done.bytes)} freed, {plural(done.versions, 'version')} left the trash{later}"])


ACTS: dict[str, Callable[[Store, argparse.Namespace], int]] = {
    "ls": _list,
    "get": _get,
    "put": _put,
    "rm": _remove,
    "restore": _restore,
    "alias": _alias,
    "verify": _verify,
    "gc": _collect,
}


def _print(args: argparse.Namespace, told: dict[str, Any], lines: list[str], /) -> int:
    if args.json:
        print_json(told)
    elif lines:
        print("\n".join(lines))
    return 0


def _book_json(book: Book) -> dict[str, Any]:
    return {
        "project": book.project,
        "name": book.name,
        "type": book.type,
        "aliases": {name: f"v{alias.number}" for name, alias in sorted(book.aliases.items())},
        "protected": book.protected,
        "versions": [_version_json(book, version) for version in book.live()],
        "trashed": [version.name for version in book.versions if version.trashed_ns],
        "absent": [{"run": each.run or None, "at": each.at_ns / 1e9, "why": each.why} for each in book.absent],
    }


def _version_json(book: Book, version: Version) -> dict[str, Any]:
    return {
        "project": book.project,
        "name": book.name,
        "type": book.type,
        "version": version.name,
        "aliases": book.aliases_of(version.number),
        "digest": version.digest,
        "bytes": version.bytes,
        "new_bytes": version.new_bytes,
        "file_count": version.files,
        "made_at": version.made_ns / 1e9,
        "run": version.run or None,
        "used_by": version.used_by,
        "metadata": version.metadata,
    }


def _names_table(books: list[Book]) -> list[str]:
    if not books:
        return ["No artifacts yet: run.log_artifact(…) or `holter artifact put NAME PATH` makes one."]
    rows = [
        [
            Cell(clean(f"{book.project}/{book.name}")),
            Cell(clean(book.type)),
            Cell(f"{len(book.live())}"),
            Cell(book.live()[-1].name if book.live() else "-"),
            Cell(size(book.live()[-1].bytes) if book.live() else ""),
            Cell("the newest upload is absent" if book.absent else "", "red"),
        ]
        for book in books
    ]
    columns = [Column("NAME", least=12), Column("TYPE"), Column("VERSIONS", is_right=True), Column("NEWEST")]
    return render([*columns, Column("SIZE", is_right=True), Column("", least=0)], rows, look=look())


def _versions_table(book: Book) -> list[str]:
    now = time.time()
    rows = [
        [
            Cell(version.name),
            Cell(", ".join(book.aliases_of(version.number))),
            Cell(size(version.bytes)),
            Cell(f"+{size(version.new_bytes)}", "dim"),
            Cell(f"{version.files:,}"),
            Cell(age(now - version.made_ns / 1e9)),
            Cell(version.run, "dim"),
        ]
        for version in reversed(book.live())
    ]
    columns = [Column("VERSION"), Column("ALIASES"), Column("SIZE", is_right=True), Column("NEW", is_right=True)]
    columns += [Column("FILES", is_right=True), Column("MADE", is_right=True), Column("RUN")]
    lines = render(columns, rows, look=look())
    lines += [
        f"absent: never half. {age(now - a.at_ns / 1e9)}, run {a.run or '-'}: {clean(a.why)}" for a in book.absent
    ]
    return lines
