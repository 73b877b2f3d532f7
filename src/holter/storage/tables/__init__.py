"""The ports in tables of a database that speaks SQL: the same statements for SQLite and PostgreSQL."""
