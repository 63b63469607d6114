"""Reports on eval cases, their graders, metrics and gates, and the screens for people who rate."""
