"""W&B's names and shapes, translated: everything real lies below."""
