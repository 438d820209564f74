"""Linear probes: how well a direction in the activations tells two classes of answers apart."""
