"""TraceSafe: guards on tool-calling trajectories."""
