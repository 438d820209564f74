"""Speed and precision, as ratios within one run: `make bench`."""
