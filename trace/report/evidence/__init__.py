"""What guards on the evidence benchmark say together: one table or figure of the study a module."""
