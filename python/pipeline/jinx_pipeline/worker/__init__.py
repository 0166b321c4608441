"""What runs in a worker process: tasks, operator chains, parts, and what is told of them."""
