"""Guards that stand in a provider's cloud: texts go there, judgements come back."""
