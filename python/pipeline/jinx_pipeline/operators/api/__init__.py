"""What an operator is, and what it is given."""
