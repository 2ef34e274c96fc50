/**
 * The `format`s of strings that are checked: the ones that providers enforce. All patterns take time linear in the
 * text.
 */
import { isIPv4, isIPv6 } from "node:net";

type Test = (text: string) => boolean;

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
const DURATION = /^P(?:\d+W|(?=[\dT])(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const EMAIL = /^[^\s@]+@[^\s@]+$/;
const URI = /^[a-z][a-z0-9+.-]*:[^\s"<>\\^`{|}]*$/i;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const MAX_HOST_NAME = 253;

const TESTS: ReadonlyMap<string, Test> = new Map([
  ["date", isDate],
  ["time", (text) => TIME.test(text)],
  ["date-time", isDateTime],
  ["duration", (text) => DURATION.test(text)],
  ["uuid", (text) => UUID.test(text)],
  ["email", (text) => EMAIL.test(text)],
  ["hostname", isHostName],
  ["ipv4", isIPv4],
  ["ipv6", (text) => isIPv6(text) && !text.includes("%")],
  ["uri", (text) => URI.test(text)],
]);

/** Reports whether a text has a format; undefined for a format that is not checked. */
export function matchesFormat(format: string, text: string): boolean | undefined {
  return TESTS.get(format)?.(text);
}

function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  // Day 0 of the next month is the last one of this month. Four hundred years later the calendar is the same.
  return (
    month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year + 400, month, 0)).getUTCDate()
  );
}

function isDateTime(text: string): boolean {
  return /^[Tt ]$/.test(text.charAt(10)) && isDate(text.slice(0, 10)) && TIME.test(text.slice(11));
}

function isHostName(text: string): boolean {
  return text.length <= MAX_HOST_NAME && text.split(".").every((label) => LABEL.test(label));
}
