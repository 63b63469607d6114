"""For Python: compare values, read baselines and replay them from scripts, notebooks and tests."""
