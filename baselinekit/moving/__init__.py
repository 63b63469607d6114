"""Moving in from other tools: their eval files, snapshots and cassettes; and eval cases in another form."""
