"""From requests to completions: the engines and the completion log."""
