"""What one server process has and spends: connections, descriptors, memory, disk; what it counts and says."""
