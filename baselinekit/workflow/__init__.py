"""The commands on baselines. Each takes its clients from outside, reads as one paragraph, and prints nothing."""
