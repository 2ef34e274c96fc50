/** Compares docs/clients.md with the public methods of the client packages, and with the calls in their tests. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as typescript from "../clients/typescript/src/index.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const java = "clients/java/src/main/java/io/github/outriggerinference";
const python = "clients/python/src/outrigger_client";

/** Fields of the contract's Request that the tables name. */
const REQUEST_FIELDS = ["IncludeRaw", "setIncludeRaw", "include_raw=", "includeRaw"];

/** Words of a language in the tables that are no names of its package. */
const WORDS = ["System.Logger", "logging", "await using"];

/** A package: the names that users call, as docs/clients.md writes them, and the text of its tests and examples. */
interface Package {
  readonly names: readonly string[];
  readonly tests: string;
}

function readText(path: string): string {
  return readFileSync(`${root}${path}`, "utf8");
}

/** The texts of all files below folders whose names match. */
function readTexts(pattern: RegExp, ...folders: readonly string[]): string {
  return folders
    .flatMap((folder) =>
      readdirSync(`${root}${folder}`, { recursive: true }).map((name) => `${folder}/${name}`),
    )
    .filter((path) => pattern.test(path) && !/\/(?:node_modules|target|build|dist)\//.test(path))
    .map(readText)
    .join("\n");
}

/** The first group of all matches, without repetitions. */
function findAll(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, name = ""]) => name))];
}

function prefix(before: string, names: readonly string[]): string[] {
  return names.map((name) => `${before}${name}`);
}

function readGo(): Package {
  const sources = readTexts(/\/[a-z]+\.go$/, "clients/go");
  const methods = (type: string) =>
    findAll(sources, new RegExp(`^func \\(\\w+ \\*${type}\\) ([A-Z]\\w*)`, "gm"));
  return {
    names: [
      ...methods("Client").filter((name) => name !== "Runs" && name !== "Threads"),
      ...prefix("Runs().", methods("Runs")),
      ...prefix("Threads().", methods("Threads")),
      ...findAll(sources, /^func (With\w+)\(/gm),
      ...findAll(sources, /^func (\w+)\[\w+ \w+\]\([^)]*client \*Client/gm),
    ],
    tests: readTexts(/(?:_test|main)\.go$/, "clients/go"),
  };
}

function readJava(): Package {
  const methods = (file: string) =>
    findAll(readText(`${java}/${file}.java`), /^ {2}public (?:static )?(?:<.*?> )?[\w.<>]+ (\w+)\(/gm);
  return {
    names: [
      ...methods("OutriggerClient").filter((name) => !["builder", "runs", "threads"].includes(name)),
      ...prefix(
        "builder().",
        methods("OutriggerClientBuilder").filter((name) => name !== "connect"),
      ),
      ...prefix("runs().", methods("Runs")),
      ...prefix("threads().", methods("Threads")),
    ],
    tests: readTexts(/\.java$/, "clients/java/src/test", "clients/java/examples"),
  };
}

/** The public methods and properties of a class that has a module of its own or comes last in it. */
function readPythonClass(module: string, name: string): string[] {
  const [, body = ""] = readText(`${python}/${module}.py`).split(`class ${name}:\n`);
  return findAll(body, /^ {4}(?:async )?def ([a-z]\w*)\(/gm);
}

function readPython(): Package {
  const signatures = findAll(
    readText(`${python}/client.py`),
    /def (?:__init__|with_options)\((.*?)\) ->/gs,
  ).join();
  return {
    names: [
      ...readPythonClass("client", "Client").filter((name) => name !== "runs" && name !== "threads"),
      ...findAll(signatures, /(\w+): /g).map((name) => `${name}=`),
      ...prefix("runs.", readPythonClass("runs", "Runs")),
      ...prefix("threads.", readPythonClass("threads", "Threads")),
      "AsyncClient",
    ],
    tests: readTexts(/\.py$/, "clients/python/tests", "clients/python/examples"),
  };
}

/** The methods of a class, without those that the library calls itself. */
function getMethods({ prototype }: { readonly prototype: object }): string[] {
  const hidden = ["constructor", "runToolLoop"];
  return Object.getOwnPropertyNames(prototype).filter((name) => !hidden.includes(name));
}

function readTypescript(): Package {
  const settings = ["client.ts", "call-info.ts"]
    .map((file) => readText(`clients/typescript/src/${file}`))
    .join("\n");
  const interfaces = findAll(settings, /interface (?:ClientOptions|CallSettings) [^{]*\{(.*?)^\}/gms).join(
    "\n",
  );
  return {
    names: [
      ...getMethods(typescript.Client),
      ...prefix("runs.", getMethods(typescript.Runs)),
      ...prefix("threads.", getMethods(typescript.Threads)),
      ...findAll(interfaces, /^ {2}readonly (\w+)\?/gm),
      ...["fromEnv", "transport", "generate", "stream", "generateObject", "streamObject"],
    ],
    tests: readTexts(/\.ts$/, "clients/typescript/test", "clients/typescript/examples"),
  };
}

/** The columns of the tables. */
const PACKAGES: readonly (readonly [language: string, read: () => Package])[] = [
  ["Go", readGo],
  ["Java", readJava],
  ["Python", readPython],
  ["TypeScript", readTypescript],
];

/** The names in a column of the tables, which have one column before those of the languages. */
function readColumn(column: number): string[] {
  const rows = readText("docs/clients.md")
    .split("\n")
    .map((line) => line.split("|").slice(1, -1))
    .filter((cells) => cells.length === PACKAGES.length + 1);
  return rows
    .flatMap((cells) => findAll(cells[column + 1] ?? "", /`([^`]+)`/g))
    .filter((name) => !WORDS.includes(name));
}

/** The text that a call of a method, or a setting, has in a program. */
function toCall(name: string): RegExp {
  const [, last = name] = /(\w+)=?$/.exec(name) ?? [];
  return new RegExp(`\\b${last}\\b`);
}

describe.each(PACKAGES.map(([language, read], column) => ({ language, read, column })))(
  "The package for $language",
  ({ read, column }) => {
    it("has the methods in docs/clients.md, and no others", () => {
      const listed = new Set(readColumn(column).filter((name) => !REQUEST_FIELDS.includes(name)));
      expect([...listed].sort()).toEqual([...new Set(read().names)].sort());
    });

    it("has a test or an example that calls each method", () => {
      const { tests } = read();
      expect(readColumn(column).filter((name) => !toCall(name).test(tests))).toEqual([]);
    });
  },
);

describe("The asynchronous client for Python", () => {
  it.each([
    ["client", "Client"],
    ["runs", "Runs"],
    ["threads", "Threads"],
  ])("has the methods of the other one: %s", (module, name) => {
    const found = readPythonClass(`async_${module}`, `Async${name}`);
    expect(found.sort()).toEqual(readPythonClass(module, name).sort());
  });
});
