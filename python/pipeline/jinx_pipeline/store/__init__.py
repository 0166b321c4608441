"""Files that appear whole or not at all, and locks."""
