"""What a motion may not do: one kind of limit, one file, one interface."""
