"""One file for each kind of target: `check` refuses what cannot work, `send` brings one message there."""
