"""Operators that choose samples by a look at all of them."""
