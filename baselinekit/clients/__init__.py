"""What leads to the outside world: HTTP, models, programs; what may be reached and run."""
