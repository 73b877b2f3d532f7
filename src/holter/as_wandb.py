"""`import holter.as_wandb`: from here on `import wandb` means holter. A real wandb stays where it is; see `off()`."""

from holter.wandb_door.finder import off, on

__all__ = ["off", "on"]

on()
