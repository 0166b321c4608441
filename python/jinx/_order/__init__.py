"""Writing a whole dataset in another order: shuffled or sorted, in bounded memory."""
