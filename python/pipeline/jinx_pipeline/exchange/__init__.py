"""Exchange by key: map tasks write keys in partitions, and a task reads one partition of every file."""
