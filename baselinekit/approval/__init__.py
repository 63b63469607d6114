"""Approval: which changes there are, what they mean, and what is written once they are approved."""
