"""What looks like a secret though nobody declared it: by its name, by its shape, or because it is random."""
