"""What keeps bytes in an object store."""
