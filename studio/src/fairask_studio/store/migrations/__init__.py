"""Alembic migrations of a study's database; they run when a study is opened."""
