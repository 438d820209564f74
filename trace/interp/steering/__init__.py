"""Vectors that are added to the residual stream, and what a model answers under them."""
