"""Cross-laboratory TRACE: what models do where an instruction conflicts with their training."""
