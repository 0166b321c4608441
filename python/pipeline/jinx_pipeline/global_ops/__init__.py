"""Global operators, which decide once over the keys of all rows; they never read media."""
