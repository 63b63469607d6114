"""The commands on baselines. They get their clients from the caller, and print nothing."""
