"""Cross-lab TRACE: what models do instead of complying, as their peers judge it."""
