"""Base trajectories of a model that acts live on BFCL's simulators."""
