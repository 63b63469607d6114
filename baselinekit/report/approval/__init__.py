"""What a refresh or a review shows: the changes, the question, what is pending, files before and after."""
