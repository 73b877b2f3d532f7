"""Sweeps: what is searched, a book of trials with leases, what follows a death; Optuna says which trial comes next."""
