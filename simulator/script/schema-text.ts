import type { InstanceSource } from "./instance-source.ts";
import { textForPattern } from "./pattern-text.ts";

/** A text for each `format` that JSON Schema and its usual extensions name. */
const textByFormat: Readonly<Record<string, string>> = {
  "date-time": "2026-03-14T09:26:53Z",
  date: "2026-03-14",
  time: "09:26:53Z",
  duration: "PT1H30M",
  email: "ada@example.com",
  "idn-email": "ada@example.com",
  hostname: "host.example.com",
  "idn-hostname": "host.example.com",
  ipv4: "192.0.2.7",
  ipv6: "2001:db8::7",
  uri: "https://example.com/path",
  url: "https://example.com/path",
  "uri-reference": "/path",
  iri: "https://example.com/path",
  uuid: "3b241101-e2bb-4255-8caf-4136c566a962",
  "json-pointer": "/path/0",
  regex: "^[a-z]+$",
  byte: "c2ltdWxhdGVk",
  base64: "c2ltdWxhdGVk",
};

/** Maximum number of characters up to which `minLength` is honoured. */
const longestText = 100_000;

/** Writes a string that fits the `format`, `pattern`, `minLength` and `maxLength` of a schema. */
export function textForSchema(schema: Readonly<Record<string, unknown>>, source: InstanceSource): string {
  const { format, pattern, minLength, maxLength } = schema;
  if (typeof pattern === "string") {
    const text = textForPattern(pattern, source.random);
    if (text !== undefined) return text;
  }
  const known = typeof format === "string" ? textByFormat[format] : undefined;
  if (known !== undefined) return known;
  return fitLength(source.nextWord(), minLength, maxLength);
}

function fitLength(text: string, minLength: unknown, maxLength: unknown): string {
  const least = Math.min(typeof minLength === "number" ? minLength : 0, longestText);
  const characters = [...text];
  while (characters.length < least) characters.push(...text);
  const most = typeof maxLength === "number" ? maxLength : Math.max(least, [...text].length);
  return characters.slice(0, Math.max(least, most === 0 ? 0 : most)).join("");
}
