"""Global operators: decided once, over keys and signatures of all rows; media are never looked at."""
