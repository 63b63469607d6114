"""Grade: what an output is worth, judged by rules of ours or by a model that is asked."""
