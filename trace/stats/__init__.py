"""Pure functions on arrays: rates, agreement, correlation, resampling."""
