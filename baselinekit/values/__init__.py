"""JSON values as trees: equality, paths, alignment, changes and merge, one of each."""
