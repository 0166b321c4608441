"""Writes a dataset in another order, shuffled or sorted, in bounded memory; `rust/jinx-order` does the work."""
