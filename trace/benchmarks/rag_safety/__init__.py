"""RAG-Safety-Bench: how documents change what a model says to harmful questions."""
