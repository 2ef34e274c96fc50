/** A proxy for a PostgreSQL server that loses answers. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Name of the socket that clients look for in the folder of a server. */
const SOCKET = ".s.PGSQL.5432";

/** Forwards connections to a server, and breaks them in place of its answers. */
export class LossyPath {
  readonly folder: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isLossy = false;

  private constructor(folder: string, target: string) {
    this.folder = folder;
    this.#server = createServer((client) => this.#forward(client, createConnection(join(target, SOCKET))));
  }

  /** @param target Folder of the socket of the server. */
  static async open(target: string): Promise<LossyPath> {
    const path = new LossyPath(await mkdtemp(join(tmpdir(), "outrigger-path-")), target);
    path.#server.listen(join(path.folder, SOCKET));
    await once(path.#server, "listening");
    return path;
  }

  /** Runs `work` while no answer of the server arrives: every connection that is used breaks. */
  async losing<Result>(work: () => Promise<Result>, ms: number): Promise<Result> {
    this.#isLossy = true;
    setTimeout(() => {
      this.#isLossy = false;
    }, ms);
    return work();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  #forward(client: Socket, server: Socket): void {
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => socket.destroy());
    }
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    client.on("data", (chunk) => server.write(chunk));
    server.on("data", (chunk) => {
      if (this.#isLossy) client.destroy();
      else client.write(chunk);
    });
  }
}
