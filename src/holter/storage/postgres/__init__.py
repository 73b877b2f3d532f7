"""What PostgreSQL needs: one pool for a process, and a schema that grows with the version."""
