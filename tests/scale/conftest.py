"""`make test-scale` runs these, and installs what they need."""

import os

# Elsewhere that is missing; tests/contract has what can be tried without it.
collect_ignore_glob = [] if os.environ.get("HOLTER_SCALE") else ["test_*.py"]
