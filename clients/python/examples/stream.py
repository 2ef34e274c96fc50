"""An answer, printed while it arrives."""

from outrigger_client import Client, Request, user_message

request = Request(model="sim-text", messages=[user_message("What is an outrigger?")])

with Client() as client, client.stream(request, timeout=30) as stream:
    for event in stream:
        kind = event.WhichOneof("event")
        if kind == "stream_start":
            print(f"{event.stream_start.provider} answers")
        elif kind == "text_delta":
            print(event.text_delta.delta, end="", flush=True)
    response = stream.result()

print(f"\n{response.usage.output_tokens} tokens of output")
