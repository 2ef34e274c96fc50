"""Lets the sidecar generate in the background: the run continues when this program is gone.

Its events can be read at any time, from any of them on.
"""

from outrigger_client import Client, RunStatus

with Client() as client:
    run = client.runs.create(
        model="sim-text", prompt="Say hello.", background=True, labels={"example": "runs"}
    )
    # `after=` resumes after an event. A lost connection is resumed automatically.
    for text in client.runs.events(run.id).text():
        print(text, end="")
    run = client.runs.get(run.id)
    print(f"\n{RunStatus.Name(run.status)} in {len(run.steps)} step")

    following = client.runs.create(model="sim-text", prompt="And goodbye.", previous_run_id=run.id)
    for listed in client.runs.list(thread_id=following.thread_id):
        print("in the thread:", RunStatus.Name(listed.status))
    client.runs.delete(following.id)
