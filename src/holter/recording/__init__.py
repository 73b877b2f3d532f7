"""What every process that begins a run shares: its settings, which run it is, what came before, and a sidecar."""
