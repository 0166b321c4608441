"""What operators exist: their facts, the JSON Schema of their parameters, and search by words."""
