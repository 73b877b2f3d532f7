"""`holter run -- CMD`: the parent of any command, which makes it a run and is never in its way."""
