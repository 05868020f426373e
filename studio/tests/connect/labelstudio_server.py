"""Label Studio for the tests; runs in the environment of Label Studio, not in ours.

``prepare FOLDER`` makes a database with an owner and annotators. ``serve FOLDER PORT`` imports everything
once and forks the server, so that a killed server is there again in a fraction of a second. Each line on
standard output is the number of the server's process.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

OWNER, ANNOTATORS = "owner@example.org", [f"annotator{i:02d}@example.org" for i in range(20)]


def token_of(email):
    return email.split("@")[0].ljust(40, "x")


def set_up(folder):
    os.environ.update(
        DJANGO_SETTINGS_MODULE="label_studio.core.settings.label_studio",
        LABEL_STUDIO_BASE_DATA_DIR=folder,
        SENTRY_DSN="",
        FRONTEND_SENTRY_DSN="",
        COLLECT_ANALYTICS="0",
        LATEST_VERSION_CHECK="0",
        SSRF_PROTECTION_ENABLED="0",  # webhooks go to this machine
        ML_BLOCK_LOCAL_IP="0",
        LOG_LEVEL="ERROR",
    )
    from label_studio import server

    sys.path.insert(0, server.LS_PATH)
    server._setup_env()
    return server


def prepare(folder):
    set_up(folder)._apply_database_migrations()
    from organizations.models import Organization
    from rest_framework.authtoken.models import Token
    from users.models import User

    for email in [OWNER, *ANNOTATORS]:
        user = User.objects.create_user(email=email, password="a-long-password")
        organisation = Organization.objects.first()
        if organisation is None:
            organisation = Organization.create_organization(
                created_by=user, title="tests", legacy_api_tokens_enabled=True
            )
        else:
            organisation.add_user(user)
        user.active_organization = organisation
        user.save()
        Token.objects.filter(user=user).update(key=token_of(email))
    Path(folder, "ready").touch()


def serve(folder, port):
    set_up(folder)
    from django.core.servers.basehttp import get_internal_wsgi_application, run
    from django.db import connections

    application = get_internal_wsgi_application()
    connections.close_all()
    children = []

    def end(*_):
        if children:
            os.kill(children[-1], signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    while True:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            sys.stdout = sys.stderr
            run("127.0.0.1", port, application, threading=True)
            os._exit(1)
        children.append(child)
        print(child, flush=True)
        os.waitpid(child, 0)


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        shutil.rmtree(sys.argv[2], ignore_errors=True)
        Path(sys.argv[2]).mkdir(parents=True)
        prepare(sys.argv[2])
    else:
        serve(sys.argv[2], int(sys.argv[3]))
