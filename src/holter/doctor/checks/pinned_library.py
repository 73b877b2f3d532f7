"""Another cuDNN, NCCL or CUDA library than the one that torch was built with."""

from collections.abc import Iterator

from holter.doctor.machine import Machine

WHY = (
    "torch loads the library by name and trusts that it is the one it was built with: kernels fail,"
    " collectives hang, or"
    " it crashes in the middle of a training"
)


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Each `nvidia-…` package whose version is not the one that torch asks for."""
    environment = machine.environment
    torch = next((each for each in environment.packages if each.name == "torch"), None)
    for need in torch.needs if torch else ():
        name, equals, wanted = need.partition("==")
        found = environment.version_of(name)
        if name.startswith("nvidia-") and equals and found and found != wanted:
            assert torch is not None
            what = f"{name} is {found}, and torch {torch.version} was built with {wanted}"
            yield what, WHY, f"pip install '{name}=={wanted}'"
