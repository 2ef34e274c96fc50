import { createHash } from "node:crypto";

/** A Lua script. Executed as one step, so it decides for all sidecars. */
export interface Script {
  readonly text: string;
  readonly sha1: string;
}

/** Creates a script. Sent whole only to a server that does not have it yet. */
export function createScript(text: string): Script {
  return { text, sha1: createHash("sha1").update(text).digest("hex") };
}

/**
 * Lua that scripts of shared rules begin with. Sets `key`, `seconds` since 1970 and `now` in milliseconds, by the
 * server's clock, since the clocks of sidecars differ. A value that is not a hash is not ours, so it is removed.
 * Nothing else is written before the first HSET: after a write, a server does not check its memory.
 */
export const PRELUDE = `
local key = KEYS[1]
local time = redis.call('TIME')
local seconds = tonumber(time[1])
local now = seconds * 1000 + tonumber(time[2]) / 1000
local kind = redis.call('TYPE', key).ok
if kind ~= 'hash' and kind ~= 'none' then redis.call('DEL', key) end
`;

/**
 * Defines `window(period, seconds)`, which returns when a window of a budget begins and ends, in seconds since 1970.
 * The month is computed as in https://howardhinnant.github.io/date_algorithms.html#civil_from_days.
 */
export const WINDOW = `
local function month(seconds)
  local days = math.floor(seconds / 86400)
  local era = math.floor((days + 719468) / 146097)
  local doe = days + 719468 - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  return (days - (doy - math.floor((153 * mp + 2) / 5))) * 86400
end
local function window(period, seconds)
  if period == 'month' then
    local begin = month(seconds)
    return begin, month(begin + 31 * 86400)
  end
  local length = period == 'day' and 86400 or 3600
  local begin = seconds - seconds % length
  return begin, begin + length
end
`;

/** The server answered something that the script does not return: another program may be in its place. */
export class UnexpectedReplyError extends Error {}

/**
 * Returns the numbers of a script's answer, with 0 in place of any other value.
 * @throws UnexpectedReplyError if it is not a list.
 */
export function readNumbers(reply: unknown): number[] {
  if (!Array.isArray(reply)) throw new UnexpectedReplyError();
  return reply.map((value) => (typeof value === "number" ? value : 0));
}
