"""Real frameworks, trained for some steps on the CPU, each in its released version."""
