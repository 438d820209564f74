"""vLLM, in this process: an optional extra that is imported only where it is used."""
