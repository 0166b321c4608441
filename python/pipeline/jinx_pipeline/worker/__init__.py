"""Code that runs in a worker process: tasks, operator chains, the writing of parts, and reports."""
