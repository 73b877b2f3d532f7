"""What the program does besides logging: exceptions and signals, seen without being changed."""
