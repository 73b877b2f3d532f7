"""Begin a sweep from a YAML file, look at sweeps, and steer them.

holter sweep FILE                 begin one; prints its id, for `holter agent ID`
holter sweep ls | show ID         all of them; one, with its trials, agents and what did not fit
holter sweep best ID              the best trial's values, as YAML
holter sweep export ID            all trials as CSV
holter sweep pause|resume|stop ID stop: running trials end by themselves, with --now at once
holter sweep add ID NAME=VALUE…   enqueue a trial; with --from RUN take a recorded run over as a finished one
holter sweep again ID TRIAL       run a trial once more
holter sweep allow ID             try again what did not fit
holter sweep bounds ID NAME LOW HIGH
                                  search a parameter between these from now on
holter sweep lift ID HOST[/GPU]   give trials again to what was quarantined
"""

import argparse
import csv
import io
import json
import os
import sys
import time
from typing import TYPE_CHECKING

import msgspec

from holter.cli.figures import clean, plural
from holter.cli.parser import add_json
from holter.cli.stdout import look, print_json
from holter.cli.sweep_text import shown_lines, table_of_sweeps
from holter.errors import UsageError

if TYPE_CHECKING:
    from holter.sweeps.opening import Place, Sweep
    from holter.sweeps.present import SweepJson, SweepLine

GROUP = "record"
ACTS = ("ls", "show", "best", "export", "pause", "resume", "stop", "add", "again", "allow", "bounds", "lift")


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("what", metavar="FILE|ACT", help=f"a YAML file, or one of {', '.join(ACTS)}")
    parser.add_argument("rest", metavar="…", nargs="*", help="the sweep's id, and what the act needs")
    parser.add_argument("--project", metavar="P", default="", help="where the runs go; of ls: only sweeps of it")
    parser.add_argument("--from", metavar="RUN", dest="runs", action="append", default=[], help="of add: this run")
    parser.add_argument("--now", action="store_true", help="of stop: running trials too")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Do what was asked."""
    from holter.sweeps.opening import Place  # Optuna is looked for

    place = Place()
    if args.what == "ls":
        return _list(args, place.all())
    if args.what not in ACTS:
        return _begin(args, place)
    if not args.rest:
        raise UsageError(f"`holter sweep {args.what}` needs the id of a sweep; `holter sweep ls` lists them")
    found = place.find(args.rest[0])
    match args.what:
        case "show" | "best" | "export":
            return _show(args, found)
        case "add":
            return _add(args, place, found)
        case "again":
            return _tell(args, {"trial": found.again(_number(args), by=_user())}, "it is trial {trial}")
    _steer(args, found)
    return 0


def _begin(args: argparse.Namespace, place: "Place") -> int:
    if not os.path.exists(args.what):
        raise UsageError(f"there is no file {args.what!r}; beside a YAML file there are {', '.join(ACTS)}")
    sweep = place.begin(args.what, project=args.project)
    return _tell(args, {"sweep": sweep}, "sweep {sweep}: `holter agent {sweep}` works at it")


def _list(args: argparse.Namespace, found: "list[SweepLine]") -> int:
    shown = [each for each in found if args.project in ("", each.project)]
    if args.json:
        print_json({"sweeps": shown})
    elif not shown:
        print("there are no sweeps yet: `holter sweep FILE` begins one")
    else:
        print("\n".join(table_of_sweeps(shown, look(), now=time.time())))
    return 0


def _show(args: argparse.Namespace, found: "Sweep") -> int:
    shown = found.show()
    best = next((each for each in shown.rows if each.number == shown.best_trial), None)
    if args.what == "show":
        if args.json:
            print_json(_as_json(shown))
        else:
            print("\n".join(shown_lines(shown, look(), now=time.time())))
    elif args.what == "best":
        if best is None:
            raise UsageError(f"sweep {shown.id} has no finished trial with a value yet")
        if args.json:
            print_json(best)
        else:
            import yaml  # there wherever a sweep is: 1e-05 is a text there, and None another one

            print(yaml.safe_dump(best.params, sort_keys=False, allow_unicode=True), end="")
            print(f"# trial {best.number}: {shown.metric} {best.value}, run {best.run}")
    else:
        _export(args, shown)
    return 0


def _as_json(shown: "SweepJson") -> dict[str, object]:
    """The trials under the name that programs know them by."""
    found: dict[str, object] = msgspec.to_builtins(shown)
    return {**found, "trials": found.pop("rows")}


def _export(args: argparse.Namespace, shown: "SweepJson") -> None:
    rows = shown.rows
    if args.json:
        print_json({"trials": rows})
        return
    names = list(dict.fromkeys(name for row in rows for name in row.params))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["trial", "state", "cause", "value", "attempts", "run", *names])
    for row in rows:
        given = [row.params.get(name, "") for name in names]
        writer.writerow([row.number, row.state, row.cause, row.value, row.attempts, row.run, *given])
    sys.stdout.write(text.getvalue())


def _add(args: argparse.Namespace, place: "Place", found: "Sweep") -> int:
    from holter.agents.entry import take_over

    if args.runs:
        numbers = take_over(place, found.id, runs=args.runs)
        return _tell(args, {"trials": numbers}, f"took over {plural(len(numbers), 'run')}")
    params: dict[str, object] = {}
    for word in args.rest[1:]:
        name, equals, text = word.partition("=")
        if not equals:
            raise UsageError(f"write NAME=VALUE, got {word!r}")
        try:
            params[name] = json.loads(text)
        except ValueError:
            params[name] = text
    return _tell(args, {"trial": found.add(params)}, "it is trial {trial}")


def _steer(args: argparse.Namespace, found: "Sweep") -> None:
    act, what = args.what, ""
    if act == "stop" and args.now:
        act = "end"
    if act == "lift":
        if len(args.rest) < 2:
            raise UsageError("say what is lifted: `holter sweep lift ID HOST` or HOST/GPU")
        what = args.rest[1]
    bounds = None
    if act == "bounds":
        what, bounds = _bounds(args.rest[1:])
    found.change(act, by=_user(), what=what, bounds=bounds)
    shown = found.show()
    _tell(args, {"sweep": shown.id, "status": shown.status}, "sweep {name} is {status}", name=clean(shown.name))


def _bounds(words: list[str]) -> tuple[str, tuple[float, float]]:
    try:
        name, low, high = words
        return name, (float(low), float(high))
    except ValueError:
        raise UsageError("say the parameter and its bounds: `holter sweep bounds ID NAME LOW HIGH`") from None


def _number(args: argparse.Namespace) -> int:
    if len(args.rest) < 2 or not args.rest[1].isdecimal():
        raise UsageError("say which trial, by its number: `holter sweep again ID TRIAL`")
    return int(args.rest[1])


def _tell(args: argparse.Namespace, found: dict[str, object], text: str, **shown: object) -> int:
    if args.json:
        print_json(found)
    else:
        print(text.format(**found, **shown))
    return 0


def _user() -> str:
    from holter.catalog.change.user_name import user_name

    return user_name()
