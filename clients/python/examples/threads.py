"""Keeps a conversation in the sidecar: runs read it and append to it.

The program sends and keeps only new messages.
"""

from outrigger_client import Client, assistant_message, text_of, user_message
from outrigger_client.v1.message_pb2 import Role

with Client() as client:
    # A conversation that began elsewhere; without messages the thread is empty.
    thread = client.threads.create(
        messages=[user_message("My name is Ada."), assistant_message("Hello, Ada.")],
        labels={"example": "threads"},
    )
    client.runs.create(model="sim-text", prompt="What is my name?", thread_id=thread.id)
    for stored in client.threads.list_messages(thread.id):
        role = Role.Name(stored.message.role).removeprefix("ROLE_")
        print(f"{role}: {text_of(stored.message)}")
    client.threads.delete(thread.id)
