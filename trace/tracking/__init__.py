"""The run directory, its manifest, W&B and progress."""
