"""Global operators: decided once, over keys of all rows; media are never read."""
