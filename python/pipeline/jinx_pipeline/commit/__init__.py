"""What is kept of finished work, and how the output appears: whole, once, in the order of the input."""
