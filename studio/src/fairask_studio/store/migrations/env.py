"""Alembic's entry point: migrate on the connection that the caller holds, in its transaction."""

from alembic import context

from fairask_studio.store.schema import metadata

if hasattr(context, "config"):  # else this file is merely imported
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        transactional_ddl=True,
    )
    context.run_migrations()
