"""From a recipe to a plan: inputs, the graph of nodes, blocks."""
