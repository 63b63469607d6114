"""What somebody approves: which changes there are, what they mean, and what is written of them."""
