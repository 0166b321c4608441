"""The interfaces of operators, and the objects that they receive."""
