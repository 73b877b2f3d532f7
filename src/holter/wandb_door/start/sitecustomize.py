"""Python runs this at its start where `holter run` put its folder first; then the next one of that name."""

import os
import sys


def _start() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  the user's own, or the system's
    except ImportError:
        pass
    finally:
        # Python looks for the module that it has just imported: this one, where there is no other.
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)
        _answer()


def _answer() -> None:
    is_wandb = os.environ.get("HOLTER_AS_WANDB", "") not in ("", "0")
    if not is_wandb and not os.environ.get("HOLTER_KNOWN"):
        return
    try:
        import holter  # noqa: F401  which answers as wandb where that is asked for
    except ImportError:
        sys.stderr.write(f"holter: {sys.executable} has no holter, so programs do not know it there\n")


_start()
