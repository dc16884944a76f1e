"""Robot files: readers, writers, and edits that leave every other byte as it is."""
