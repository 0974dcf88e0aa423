"""Review: the faces of a table in the browser, decided by eye with the model's help; and annotation."""
