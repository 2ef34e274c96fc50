/** Where a program of the benchmark listens, as the variable OUTRIGGER_LISTEN says it: `host:port`. */
export function listenAddress(): { host: string; port: number } {
  const [host = "", port = ""] = (process.env.OUTRIGGER_LISTEN ?? "").split(":");
  return { host, port: Number(port) };
}
