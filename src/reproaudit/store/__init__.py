"""Keeps the records of finished cells, and says which of them count."""
