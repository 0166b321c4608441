"""What one touch costs, for pytest-benchmark; `make bench-micro` runs it and the Rust ones."""
