"""Tables in SQLite and PostgreSQL: rows are upserted by key, and selected with declared columns."""
