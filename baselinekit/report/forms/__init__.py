"""The forms of a report for other programs and for pull requests, and the table of all forms."""
