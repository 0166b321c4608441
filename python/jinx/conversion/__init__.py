"""How a conversion finds, fetches and reads what it is given."""
