"""The build of a set of questions with audited documents, from a user's articles."""
