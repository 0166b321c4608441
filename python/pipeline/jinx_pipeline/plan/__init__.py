"""From a recipe to a plan: inputs, segments, stages, blocks."""
