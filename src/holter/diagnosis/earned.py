"""What each grade has earned on faults that no rule was written for. `make zoo` writes it: not by hand."""

CONFIDENCES = {
    "named": 0.999,
    "counted": 0.999,
    "consistent": 0.883,
    "likely": 0.883,
    "inferred": 0.822,
    "remote": 0.322,
}
