"""What every form says, in the same words: of a run, of an earlier one, of judges, and what to type next."""
