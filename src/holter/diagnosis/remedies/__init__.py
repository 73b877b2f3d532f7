"""Everything that we ever advise, one function each: evidence in, a sentence with the numbers of this run out.

A remedy that makes no sense for this run (no GPU framework, no workers) returns an empty text. `advice` says which
causes print which remedies; add a sentence here and its place there.
"""
