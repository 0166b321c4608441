"""Makes a plan from a recipe: inputs, the graph of nodes, blocks."""
