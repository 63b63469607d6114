"""What a terminal shows: of results, of earlier runs, and how it is dressed and fitted."""
