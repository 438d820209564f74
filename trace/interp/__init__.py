"""Inside a model: what its activations tell, and what pushing them does."""
