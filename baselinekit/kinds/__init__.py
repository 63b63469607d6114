"""Recipe kinds: one module per kind with its schema, checks, responses, target, group and cost, and a
table."""
