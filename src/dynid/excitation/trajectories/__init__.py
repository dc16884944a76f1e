"""What can be followed: one family of motions, one file, one interface."""
