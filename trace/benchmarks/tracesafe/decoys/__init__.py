"""Decoys: benign records with what a class of mutants looks like, and a reason why it is safe."""
