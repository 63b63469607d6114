"""Programs: how a child is started, watched, bounded and ended with all that it started."""
