"""The process that makes files of what a training process left in the spool: short-lived, and last in line for CPU."""
