"""Runs the graph of a plan: tasks on workers, decisions in the driver process."""
