"""An output on file and the one that came back → the changes between them, each to be accepted by itself."""
