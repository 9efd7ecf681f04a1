"""What is written and read, as models: the verdict and the scorecard. Nothing here opens a file."""
