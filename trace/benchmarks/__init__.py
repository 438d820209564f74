"""The benchmarks: samples, conditions, builders, analyses."""
