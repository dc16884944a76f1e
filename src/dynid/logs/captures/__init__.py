"""Motion capture and force plates: files of markers to a log of a body with a floating base."""
