"""What is, and what is not, `environment-mismatch`."""

from tests.causes.example import Example
from tests.causes.specimens import END_NS, evidence, failed, said, signalled

_EARLY = END_NS - 4 * 10**9

EXAMPLES = [
    Example(
        evidence(failed("ImportError", "/venv/lib/_C.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", began_ns=_EARLY)),
        fires=True,
    ),
    Example(
        evidence(
            failed("ValueError", "numpy.dtype size changed, may indicate binary incompatibility.", began_ns=_EARLY)
        ),
        fires=True,
    ),
    Example(
        evidence(failed("OSError", "libcudart.so.12: cannot open shared object file", began_ns=_EARLY)), fires=True
    ),
    Example(
        evidence(
            failed("torch.AcceleratorError", "CUDA error: no kernel image is available for execution on the device")
        ),
        fires=True,
    ),
    Example(
        evidence(failed("RuntimeError", "The NVIDIA driver on your system is too old (found version 11040).")),
        fires=True,
    ),
    Example(
        evidence(
            failed(
                "ImportError",
                "/opt/libfast.so: version `FAST_2.0' not found (required by /venv/lib/_fast.so)",
                began_ns=_EARLY,
            )
        ),
        fires=True,
    ),
    # The file was built as another module, and renamed.
    Example(
        evidence(
            failed(
                "ImportError",
                "dynamic module does not define module export function (PyInit__fast)",
                began_ns=_EARLY,
            )
        ),
        fires=True,
    ),
    # No library, but the user's own idea of a version.
    Example(evidence(failed("KeyError", "version `v2' not found", began_ns=_EARLY)), fires=False),
    # Not installed is not mismatched.
    Example(evidence(failed("ModuleNotFoundError", "No module named 'einops'", began_ns=_EARLY)), fires=False),
    # The user's own words prove nothing.
    Example(evidence(failed("ImportError", "undefined symbol: x", statement="raise ImportError(text)")), fires=False),
    # A warning that was printed, and another death.
    Example(
        evidence(signalled(9), said=(said("A module that was compiled using NumPy 1.x cannot be run"),)), fires=False
    ),
    Example(evidence(failed("OSError", "[Errno 2] No such file or directory: 'libdata.so.json'")), fires=False),
]
