"""Which motion to make next: movements that people and operators can follow, by what they would add to the data."""
