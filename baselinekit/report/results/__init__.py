"""The result file (`baselinekit.results/1`), written and read back."""
