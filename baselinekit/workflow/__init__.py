"""The verbs. Each takes its doors from outside, reads as one paragraph, and prints nothing."""
