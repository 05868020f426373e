"""Everything of a study that talks to a database."""
