"""The process that keeps received journals, makes an index of them, and answers questions."""
