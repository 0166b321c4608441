"""Tags and notes that people give samples: a file for each person, and datasets made of them."""
