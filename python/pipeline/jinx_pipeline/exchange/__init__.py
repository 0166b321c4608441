"""Exchange by key: map tasks write keys in partitions, and later tasks read one partition of every file."""
