"""Artifacts: sealed versions of files, kept once by content; here nobody knows of runs or the network."""
