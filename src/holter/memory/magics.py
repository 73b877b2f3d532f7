"""What `%holter vars`, `%holter free` and `%%holter_memory` do."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holter.errors import UsageError

if TYPE_CHECKING:
    from holter.memory.freeing import Freed

# Somebody waits for the answer, and it may look closer than at the end of each cell.
ASKED_S = 0.5
_WHATS = ("out", "traceback")


def show_variables(shell: Any, line: str) -> None:
    """`%holter vars`: the namespace by size."""
    from holter.memory.keeping import say
    from holter.memory.variables import variables

    say(variables(shell.user_ns, shell=shell, budget_s=ASKED_S))


def free(shell: Any, line: str) -> None:
    """`%holter free [out] [traceback]`: drop what is safe to drop, and say what came back. Raises UsageError."""
    from holter.memory.freeing import free as free_safe

    whats = line.split() or list(_WHATS)
    if unknown := [each for each in whats if each not in _WHATS]:
        raise UsageError(f"%holter free takes {' and '.join(_WHATS)}, or nothing for both; got {unknown[0]!r}")
    print(_told(free_safe(shell, whats)))  # noqa: T201  the user asked in a cell, and reads it there


def profile_cell(shell: Any, line: str, *, cell: str) -> Any:
    """`%%holter_memory`: run a cell and show what each of its lines took; returns the value of its last expression."""
    import ast

    from holter.memory.profiling import Profiler

    text = shell.transform_cell(cell)
    file = shell.compile.cache(text, shell.execution_count)
    tree = shell.compile.ast_parse(text, filename=file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    codes = [shell.compile(tree, file, "exec")]
    if last is not None:
        codes.append(shell.compile(ast.Expression(last.value), file, "eval"))
    profiler = Profiler(f"cell-{shell.displayhook.prompt_count}", *codes, show=True)
    try:
        profiler.run(exec, codes[0], shell.user_ns)
        return profiler.run(eval, codes[1], shell.user_ns) if last is not None else None
    finally:
        profiler.count_call()


def register(shell: Any) -> None:
    """Have the shell know `%%holter_memory`."""
    shell.register_magic_function(
        lambda line, cell: profile_cell(shell, line, cell=cell), magic_kind="cell", magic_name="holter_memory"
    )


def _told(freed: "Freed") -> str:
    from holter.memory.tables import show_bytes

    dropped = [f"{freed.outputs} output{'s' * (freed.outputs != 1)}"] if freed.outputs else []
    dropped += [f"the frames of the last {freed.error}"] if freed.error else []
    back = freed.rss_before_bytes - freed.rss_after_bytes
    said = f"{show_bytes(back)} came back: {show_bytes(freed.rss_before_bytes)} → {show_bytes(freed.rss_after_bytes)}"
    if freed.gpu_before_bytes is not None and freed.gpu_after_bytes is not None:
        said += f"; GPU {show_bytes(freed.gpu_before_bytes)} → {show_bytes(freed.gpu_after_bytes)}"
    return f"holter: dropped {' and '.join(dropped) or 'nothing'}; {said}"


COMMANDS: dict[str, Callable[[Any, str], None]] = {"vars": show_variables, "free": free}
