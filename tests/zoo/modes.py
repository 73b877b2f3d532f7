"""Who watches a program when it dies, whose program it is, and which witnesses are missing."""

import itertools

import msgspec

SIDECAR, RUN, AFTER, ALONE = "sidecar", "holter run", "after the fact", "without sidecar"
NOBODY = "nobody"
"""Only to see whether a fault happens as it should."""
ROOT_USER, ORDINARY_USER = "root", "user"

OLD_LINUX = ("pidfd-info", "connector")


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """One way to watch."""

    watch: str = SIDECAR
    """`sidecar`: the client and its sidecar; `holter run`: nothing else, the program does not record; `after the fact`:
    the sidecar is killed just before the program; `without sidecar`: there never was one."""
    user: str = ROOT_USER
    without: tuple[str, ...] = ()
    """Names for HOLTER_WITHOUT."""

    @property
    def name(self) -> str:
        """Readable and unique."""
        return ", ".join([self.watch, self.user, *(f"no {each}" for each in self.without)])

    @property
    def environ(self) -> dict[str, str]:
        """What tells the program and every command of holter."""
        without = [*self.without, *(["sidecar"] if self.watch == ALONE else [])]
        return {"HOLTER_WITHOUT": ",".join(without)} if without else {}


STANDARD = Mode()


def all_modes() -> list[Mode]:
    """The matrix, without the cells in which a missing witness could not make a difference."""
    users = (ROOT_USER, ORDINARY_USER)
    signals: tuple[tuple[str, ...], ...] = ((), ("signals",))
    kernels: tuple[tuple[str, ...], ...] = ((), OLD_LINUX)
    watched = [Mode(user=user, without=(*lost, *old)) for user, lost, old in itertools.product(users, signals, kernels)]
    unseen = [
        Mode(watch=watch, user=user, without=lost)
        for watch, user, lost in itertools.product((AFTER, ALONE), users, signals)
    ]
    launched = [Mode(watch=RUN, user=user) for user in users]
    return [*watched, Mode(without=("kernel-log",)), Mode(without=("kernel-log", *OLD_LINUX)), *launched, *unseen]
