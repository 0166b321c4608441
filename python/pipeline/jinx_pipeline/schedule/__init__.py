"""What runs next, and what a failure means: a state machine without I/O, clock or engine."""
