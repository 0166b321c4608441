"""The scheduler, which decides what runs next and what a failure means: a state machine without I/O or clock."""
