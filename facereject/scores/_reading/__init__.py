"""What is read from a predictor: its outputs, its training examples, the columns that reach its last step."""
