"""Tables and figures from records."""
