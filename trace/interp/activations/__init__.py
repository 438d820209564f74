"""Reading the residual stream of a language model."""
