import { createClient, ErrorReply, RESP_TYPES } from "@redis/client";
import { compact } from "../../core/compact.ts";
import type { ConnectionTls } from "../../kit/http/transport.ts";
import { type ConnectionObserver, type Failure, ReconnectingConnection } from "./reconnecting-connection.ts";
import { createScript, type Script, UnexpectedReplyError } from "./scripts.ts";

/** A Valkey or Redis server. */
export interface ValkeySettings {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly database: number;
  /** Prefix of all keys. */
  readonly prefix: string;
  /** Milliseconds that a command may take. */
  readonly timeoutMs: number;
  /** Returns the password of the next connection; undefined if there is none. */
  readonly readPassword: () => Promise<string | undefined>;
  /** Returns the TLS settings of the next connection. Undefined if connections are plain. */
  readonly tls: (() => ConnectionTls) | undefined;
}

const PROBE = createScript(`
redis.call('HSET', KEYS[1], 'at', redis.call('TIME')[1])
return redis.call('PEXPIRE', KEYS[1], 1000)
`);

type Argument = string | Buffer;

type Client = ReturnType<typeof openClient>;

/** A Valkey or Redis server whose connection is kept. */
export class Valkey {
  readonly #prefix: string;
  /** The connection to the server, and its state. */
  readonly connection: ReconnectingConnection<Client>;

  constructor(settings: ValkeySettings, observer: ConnectionObserver) {
    const server = `Valkey at ${settings.host}:${settings.port}`;
    this.#prefix = settings.prefix;
    const probe = `${settings.prefix}:probe`;
    this.connection = new ReconnectingConnection(
      {
        server,
        timeoutMs: settings.timeoutMs,
        connect: () => connect(settings),
        // A server without memory, or a replica, answers reads only.
        probe: (client) => execute(client, PROBE, ["1", probe]),
        close: (client) => client.destroy(),
        follow: (client, onBreak) => client.on("error", onBreak),
        describe,
      },
      observer,
    );
  }

  /**
   * Runs a script on one key. The key has a hash tag, so that a proxy before a cluster finds its slot.
   * @param decode Gets integers as numbers, and texts as Buffers.
   * @throws UnavailableError
   */
  run<Result>(
    script: Script,
    key: string,
    args: readonly Argument[],
    decode: (reply: unknown) => Result,
  ): Promise<Result> {
    const rest = ["1", `${this.#prefix}:{${key}}`, ...args];
    return this.connection.use(async (client) => decode(await execute(client, script, rest)));
  }
}

async function execute(client: Client, script: Script, args: readonly Argument[]): Promise<unknown> {
  try {
    return await client.sendCommand(["EVALSHA", script.sha1, ...args], AS_BUFFERS);
  } catch (thrown) {
    if (!(thrown instanceof ErrorReply) || !thrown.message.startsWith("NOSCRIPT")) throw thrown;
    return client.sendCommand(["EVAL", script.text, ...args], AS_BUFFERS);
  }
}

const AS_BUFFERS = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

/** Maximum number of pending commands of one connection. Further ones fail at once. */
const MAX_QUEUE = 10_000;

/** The connection is kept by ReconnectingConnection, so the client does not reconnect itself. */
function openClient({ host, port, username, database, readPassword, tls }: ValkeySettings) {
  const socket = { host, port, connectTimeout: 4000, reconnectStrategy: false } as const;
  const credentials = async () => compact({ username, password: await readPassword() });
  return createClient({
    RESP: 3,
    name: "outrigger",
    database,
    socket: tls === undefined ? socket : { ...socket, tls: true, servername: toServerName(host), ...tls() },
    credentialsProvider: { type: "async-credentials-provider", credentials },
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_QUEUE,
    maintNotifications: "disabled",
  });
}

/** Returns the name for SNI, which must not be an address. */
function toServerName(host: string): string {
  return /^[\d.]+$|:/.test(host) ? "" : host;
}

async function connect(settings: ValkeySettings): Promise<Client> {
  const client = openClient(settings);
  // Without a listener, an error would end the process. Failures to connect are thrown as well.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Problems by the first word of an error, see https://valkey.io/topics/protocol/#simple-errors. */
const PROBLEMS: ReadonlyMap<string, string> = new Map([
  ["BUSY", "it is busy with a script"],
  ["CLUSTERDOWN", "its cluster is down"],
  ["LOADING", "it is loading its data"],
  ["MASTERDOWN", "its primary is down"],
  ["MISCONF", "it cannot save its data"],
  ["MOVED", "expected a server alone or a proxy, found a member of a cluster"],
  ["NOAUTH", "it requires a password"],
  [
    "NOPERM",
    "the user lacks rights: expected those of docs/middleware.md on the keys of shared.valkey.prefix",
  ],
  ["NOREPLICAS", "it has too few replicas"],
  ["OOM", "its memory is full, and its maxmemory-policy evicts nothing"],
  ["READONLY", "expected a primary, found a read-only replica"],
  ["WRONGPASS", "it refused the user or the password"],
]);

/** The texts of the server are not shown beyond their first word: they can quote arguments. */
function describe(thrown: unknown): Failure {
  if (thrown instanceof ErrorReply) {
    const [word = ""] = /^[A-Z]{2,20}\b/.exec(thrown.message) ?? [];
    const known = PROBLEMS.get(word) ?? describeOther(thrown.message);
    return { problem: known ?? `it refused a command (${word || "no code"})`, reason: "refused" };
  }
  if (thrown instanceof UnexpectedReplyError)
    return { problem: "it answered a script with something other than its result", reason: "refused" };
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  return { problem: describeCode(code), reason: "connection" };
}

function describeOther(message: string): string | undefined {
  if (/AUTH.*without any password/.test(message))
    return "expected a server with a password, found one without";
  if (/DB index/.test(message)) return "it does not have the database that shared.valkey.url names";
  // Failures within a script: "ACL failure in script" of Valkey, "can't run this command" of Redis up to 7.0.
  if (/ACL failure|can't run this command/.test(message)) return PROBLEMS.get("NOPERM");
  // Redis 6 quotes the error within another: "ERR Error running script …: -READONLY …".
  const [, word = ""] = /: -([A-Z]+) /.exec(message) ?? [];
  return PROBLEMS.get(word);
}

/** Codes of failed verification, see `man verify`. */
const TLS_CODE = /CERT|SIGNATURE|ALTNAME|^ERR_(SSL|TLS)|^EPROTO$/;

function describeCode(code: string): string {
  if (TLS_CODE.test(code))
    return `TLS failed (${code}); expected a certificate that shared.valkey.tls.ca_file signs`;
  if (code === "ECONNREFUSED" || code === "ENOTFOUND") return `no answer at that address (${code})`;
  if (code !== "") return `the connection failed (${code})`;
  return "the connection was lost";
}
