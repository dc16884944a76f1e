"""Results: saved as folders, told as data, used for predictions and robot files."""
