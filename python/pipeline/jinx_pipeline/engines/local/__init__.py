"""Worker processes of this machine."""
