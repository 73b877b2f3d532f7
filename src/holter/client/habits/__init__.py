"""What programs do to their own harm, seen from inside. A guard words it: `holter.guards.checks.habits`."""
