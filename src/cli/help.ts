/** The texts of `outrigger --help` and `outrigger <command> --help`. */

import { providerApis, wireDefinitions } from "../client/providers.ts";

/** The commands, in the order of the help. */
export const commandNames = [
  "serve",
  "demo",
  "simulate",
  "check-config",
  "copy-runs",
  "healthcheck",
] as const;

/** Name of a command. */
export type CommandName = (typeof commandNames)[number];

/** The help of the program. */
export const mainHelp = `Outrigger is an inference sidecar: one gRPC contract in front of every model provider.

Usage: outrigger <command> [options]

Commands:
  serve        Run the sidecar.
  demo         Run the sidecar with a simulated provider behind it. Needs no key.
  simulate     Run the simulated provider alone, for tests and CI.
  check-config Check a configuration file, and say what it would serve.
  copy-runs    Copy the runs file of a sidecar, even while it is running.
  healthcheck  Ask a running sidecar whether it is ready.

  outrigger <command> --help   explains a command
  outrigger --version          prints the version

Examples:
  outrigger demo
  OPENAI_API_KEY=sk-... outrigger serve
  outrigger serve --config outrigger.yaml

Exit codes:
  0  done, or stopped by SIGTERM, SIGINT or SIGQUIT after the calls in progress had ended
  1  an unexpected failure; healthcheck: not ready
  2  the command line is invalid
  3  the configuration is invalid, or no provider is configured
  4  cannot listen on an address, for instance because it is in use
  A second signal ends the process at once, with 143, 130 or 131.
`;

/** Describes the variables of a provider: what registers it, and what else is read. */
function describeVariables({ environment, baseUrl }: (typeof wireDefinitions)[number]): string {
  const { provider, registeredBy, key, baseUrl: urls, texts = {} } = environment;
  const listed = registeredBy.join(" or ");
  const left = `  ${listed}`;
  const address = baseUrl.default === undefined ? "" : ` (${baseUrl.default})`;
  const others = [...key, ...urls, ...Object.keys(texts)].filter((each) => !registeredBy.includes(each));
  return [
    `${left.length < COLUMN ? left.padEnd(COLUMN) : `${left}\n${INDENT}`}registers the provider "${provider}"${address}`,
    `${INDENT}its settings: ${others.join(", ")}`,
    "",
  ].join("\n");
}

const COLUMN = 30;
const INDENT = " ".repeat(COLUMN);

const HELP: Readonly<Record<CommandName, string>> = {
  serve: `Runs the sidecar: gRPC, gRPC-Web, Connect and JSON on one port, health and metrics on another.

Usage: outrigger serve [options]

Options:
  --config FILE             Configuration file (YAML). Default: none.
  --listen ADDRESS          Address for calls. May be repeated. Default: 127.0.0.1:6190.
  --admin-listen ADDRESS    Address for health and metrics, or "off". Default: 0.0.0.0:6191.
  --default-provider NAME   Provider of requests that name none. Default: the first one.
  --log-level LEVEL         trace, debug, info, warn, error, fatal or silent. Default: info.
  --log-format FORMAT       numbers or words, for levels and times in the log. Default: numbers.

An ADDRESS is 127.0.0.1:6190, [::1]:6190, :6190 (all interfaces) or unix:///run/outrigger.sock.
Port 0 means a free port. Flags override variables, variables override the file.

Environment:
${wireDefinitions.map(describeVariables).join("")}  OUTRIGGER_CONFIG            like --config
  OUTRIGGER_LISTEN            like --listen; several addresses, comma-separated
  OUTRIGGER_ADMIN_LISTEN      like --admin-listen
  OUTRIGGER_ALLOWED_HOSTS     host names accepted over HTTP/1.1, comma-separated, in addition to IP
                              addresses and private names
  OUTRIGGER_TLS_CERTIFICATE_FILE, OUTRIGGER_TLS_KEY_FILE, OUTRIGGER_TLS_CLIENT_CA_FILE
                              PEM files: TLS of the data port, and certificate authorities of callers
  OUTRIGGER_ACCESS_KEYS_FILE  file with the callers' access keys. Default: no keys needed
  OUTRIGGER_ALLOW_UNAUTHENTICATED
                              true: allows an ADDRESS that a network can reach without access keys
  OUTRIGGER_LOCAL_ONLY        true: allows only providers on this machine or in private networks
  OUTRIGGER_DEFAULT_PROVIDER  like --default-provider
  OUTRIGGER_RUNS_STORE        store of runs: the path of a file, or a postgres:// URL. Default: memory
  OUTRIGGER_LOG_LEVEL         like --log-level
  OUTRIGGER_LOG_FORMAT        like --log-format
  HTTP_PROXY, HTTPS_PROXY and NO_PROXY set proxies for calls to providers;
  NODE_EXTRA_CA_CERTS names a PEM file with additional certificate authorities.
  An empty variable counts as unset.

A configuration file also has settings without a variable:
  providers:
    openai-eu:
      api: openai-responses
      api_key: \${OPENAI_EU_KEY}        # or api_key_file: /run/secrets/openai
      base_url: https://eu.api.openai.com/v1
      timeouts: { connect: 5s, request: 20m, between_bytes: 5m }
    local:
      # One of ${providerApis.join(", ")}
      api: openai-chat
      base_url: http://localhost:8000/v1
      profile: vllm                    # how the server differs; detected by known hosts
  limits: { max_message_bytes: 64MiB }
  drain_timeout: 25s

SIGTERM, SIGINT or SIGQUIT: accepts no new calls, waits for calls in progress (at most drain_timeout),
then exits with code 0. SIGHUP: reloads the configuration file, the files of api_key_file, the access
keys and the keys of issuers. Changes of these files are also detected automatically.
Logs are JSON lines on stdout, without prompts, answers or keys.
`,
  demo: `Runs the sidecar with a simulated provider behind it, and prints calls to try. Needs no key;
nothing leaves this machine.

Usage: outrigger demo [options]

Options:
  --listen ADDRESS         Address for calls. May be repeated. Default: 127.0.0.1:6190.
  --admin-listen ADDRESS   Address for health and metrics, or "off". Default: 127.0.0.1:6191.
  --log-level LEVEL        Log level, on stderr. Default: warn.

OUTRIGGER_LISTEN, OUTRIGGER_ADMIN_LISTEN and OUTRIGGER_LOG_LEVEL set the same. No other variable and
no configuration file is read.

Examples:
  outrigger demo
  outrigger demo --listen 127.0.0.1:0 --admin-listen off     # on any free port
`,
  simulate: `Runs the simulated provider alone: a server that speaks the wire formats of model providers.
Point a program's base URL at it, in your tests or in CI.

Usage: outrigger simulate [options]

Options:
  --host HOST         Address to listen on. Default: 127.0.0.1.
  --port PORT         Port to listen on, or 0 for a free port. Default: 6192.
  --defaults OPTIONS  Options of models that do not set them, such as rate=60,parts=1.
  --alias NAME=MODEL  Makes NAME an alias of MODEL, such as gpt-5.2=sim-tools:calls=2. May be repeated.
  --quiet             Prints no line for each request.

The model string chooses the answer and its faults:
  sim-text                             a short text
  sim-tools:calls=2                    two tool calls, then an answer
  sim-reasoning                        reasoning, then a text
  sim-long:tokens=2000,rate=50         2000 tokens, 50 per second
  sim-text:status=429,retry_after=2    a rate limit
  sim-long:cut_events=20               a stream that breaks

Example:
  outrigger simulate --port 6192 &
  OPENAI_API_KEY=any OPENAI_BASE_URL=http://127.0.0.1:6192/v1 your-program
`,
  "check-config": `Checks a configuration file with the variables of the environment, and says what "outrigger serve"
would serve: addresses, callers, providers, models, MCP servers and the store of runs, without a secret.
Opens no address and calls no provider.

Usage: outrigger check-config FILE

Example:
  outrigger check-config outrigger.yaml

Exit codes: 0 valid, 3 invalid; all mistakes are listed.
`,
  "copy-runs": `Copies the runs file of a sidecar, for a backup. The sidecar may be running: the copy is a consistent
snapshot. Encrypted bodies stay encrypted.

Usage: outrigger copy-runs --to FILE [options]

Options:
  --to FILE    Path of the copy. Must not exist.
  --from FILE  The file in runs.store. Default: OUTRIGGER_RUNS_STORE.

Example:
  outrigger copy-runs --from /var/lib/outrigger/runs.db --to /backup/runs.db
`,
  healthcheck: `Asks a running sidecar whether it is ready, for container runtimes without a shell or curl.

Usage: outrigger healthcheck [options]

Options:
  --admin-listen ADDRESS   The sidecar's admin address. Default: OUTRIGGER_ADMIN_LISTEN, or 127.0.0.1:6191.
  --timeout DURATION       Longest wait for the answer. Default: 2s.
  --tls                    Connects with TLS (admin_tls). The certificate is not verified.

Exit codes: 0 ready, 1 not ready or unreachable.
`,
};

/** Returns the help of a command. */
export function getHelp(command: CommandName): string {
  return HELP[command];
}
