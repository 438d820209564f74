"""The analyses of RAG-Safety-Bench, over judgements of any respondents and conditions."""
