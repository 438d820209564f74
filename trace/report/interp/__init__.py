"""What probes and steering found, as tables, figures and sentences, from metrics.json alone."""
