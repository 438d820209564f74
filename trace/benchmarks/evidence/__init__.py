"""Evidence: prompts, reasoning traces and responses, with what makes them unsafe."""
