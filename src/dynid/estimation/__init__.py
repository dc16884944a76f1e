"""What the numbers are: estimates with uncertainties, from triangular factors."""
