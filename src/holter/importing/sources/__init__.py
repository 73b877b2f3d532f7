"""One file for each tracker whose runs can be taken over; the file name is what `holter import` calls it."""
