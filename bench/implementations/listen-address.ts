/** Address on which a program of the benchmark listens, from the variable OUTRIGGER_LISTEN: `host:port`. */
export function listenAddress(): { host: string; port: number } {
  const [host = "", port = ""] = (process.env.OUTRIGGER_LISTEN ?? "").split(":");
  return { host, port: Number(port) };
}
