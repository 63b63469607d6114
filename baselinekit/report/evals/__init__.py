"""What is said of eval cases, their graders, metrics and gates, and to the people who rate."""
