"""Reading files that the page cache does not hold, next to `dd`, plain Python and an older build."""
