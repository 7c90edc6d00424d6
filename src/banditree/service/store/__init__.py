"""The store: every table and statement. sqlalchemy is imported here and nowhere else."""
