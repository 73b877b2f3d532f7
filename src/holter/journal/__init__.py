"""The crash-proof file: frames, segments, writer, reader. The format is described in docs/journal-format.md."""
