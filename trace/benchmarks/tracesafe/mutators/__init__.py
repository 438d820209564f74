"""Mutators: each makes one class of risk out of a benign trajectory, by code alone."""
