"""What each grade has earned on faults that no rule was written for. `make zoo` writes it: not by hand."""

CONFIDENCES = {
    "named": 0.997,
    "counted": 0.996,
    "consistent": 0.882,
    "likely": 0.882,
    "inferred": 0.827,
    "remote": 0.32,
}
