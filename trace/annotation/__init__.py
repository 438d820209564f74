"""People as annotators: what they are asked, who gets which item, and what they said."""
