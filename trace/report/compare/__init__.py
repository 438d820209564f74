"""What several runs say together: one analysis a module."""
