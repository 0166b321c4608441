"""Runs the graph of a plan: its tasks on workers, its decisions here."""
