const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

const BYTES: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  KB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** Parses a duration such as `500ms`, `10s`, `1m30s` or `0`, as milliseconds. Undefined if it is invalid. */
export function parseDuration(value: unknown): number | undefined {
  if (value === 0 || value === "0") return 0;
  if (typeof value !== "string" || !/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(value)) return undefined;
  let total = 0;
  for (const [, amount, unit = ""] of value.matchAll(/([\d.]+)(ms|s|m|h)/g)) {
    total += Number(amount) * (MILLISECONDS[unit] ?? 0);
  }
  return Math.round(total);
}

/** Parses a size such as `32MiB`, `64KB` or `1048576`, as bytes; at least 1. Undefined if it is invalid. */
export function parseSize(value: unknown): number | undefined {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?) ?([KMG]i?B|B)?$/.exec(String(value)) ?? [];
  if (amount === undefined) return undefined;
  const bytes = Number(amount) * (BYTES[unit] ?? 0);
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}
