"""How fast it is, always beside a peer that does the same work: `make bench`. See README.md."""
