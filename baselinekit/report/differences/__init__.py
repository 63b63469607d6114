"""What differs, as lines to look at: spots folded into blocks, texts beside each other."""
