"""
The studio by its API
=====================

The studio's page uses nothing but ``/api``, so a program can label too: an older model, a form that you have, a script that replays
answers. Here a script signs in with a token, asks for rows and answers them.
"""

# %%
# A small study with one annotator.
import json
import socket
import tempfile
import threading
import time
import urllib.request

import matplotlib.pyplot as plt
import numpy as np
import uvicorn

from fairask_studio import Study
from fairask_studio.pages import create_app

rng = np.random.default_rng(0)
table = {"age": rng.integers(18, 70, 400).tolist(), "sex": rng.choice(["f", "m"], 400).tolist()}
study = Study.create(
    tempfile.mkdtemp() + "/visits", table, protected="sex", classes=("no", "yes"), random_state=0
)
token = study.people.add("ada")

# %%
# Serve it in a thread. ``fairask studio visits`` does the same on the command line.
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
server = uvicorn.Server(uvicorn.Config(create_app(study), port=port, log_level="error"))
thread = threading.Thread(target=server.run)
thread.start()
while not server.started:
    time.sleep(0.05)


def call(path, body):
    """POST to the API as Ada."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/{path}", json.dumps(body).encode(), headers
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


# %%
# Ask for rows and answer them: people above 40 say yes.
ages = {"no": [], "yes": []}
while sum(map(len, ages.values())) < 25:
    cards = call("next", {"count": 5})["cards"]
    for card in cards:
        age = table["age"][card["row"]]
        label = "yes" if age > 40 else "no"
        call("answers", {"row": card["row"], "label": label})
        ages[label].append(age)
    if not cards:
        time.sleep(0.2)  # the next batch is being drawn
server.should_exit = True
thread.join()
study.close()

# %%
fig, ax = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
ax.hist(
    [ages["no"], ages["yes"]],
    bins=range(15, 75, 5),
    stacked=True,
    color=["#999933", "#332288"],
    label=["no", "yes"],
)
ax.set(xlabel="age", ylabel="answers", title="Labels that arrived by the API")
ax.legend()
plt.show()
