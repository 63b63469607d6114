"""Recipe kinds: one file a kind with its schema, checks, responses, target, group and cost, and one table."""
