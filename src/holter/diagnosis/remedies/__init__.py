"""Everything that we ever advise, one function each: evidence in, a sentence with the numbers of this run out.

A remedy that makes no sense for this run (no GPU framework, no workers) returns an empty text. Each
cause names those that it prints.
"""
