"""Values as text: as JSON with all their digits, read back from it, and short for people."""
