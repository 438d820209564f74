"""Guards: judges with their own template and parser, one file a family."""
