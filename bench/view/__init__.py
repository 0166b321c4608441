"""How fast `jinx view` is on ten million samples, in the browser."""
