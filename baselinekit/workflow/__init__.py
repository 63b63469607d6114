"""The commands on baselines. Each takes its clients from outside, reads as a paragraph and prints nothing."""
