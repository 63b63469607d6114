"""Models: a question -> an answer, over whatever a model is asked by. An edge."""
