import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../../src/kit/json/json.ts";
import {
  compactJson,
  getSourceText,
  sourceObject,
  splitElements,
  stringifyJson,
  toMembers,
} from "../../../src/kit/json/json-source.ts";

describe("toMembers()", () => {
  it("gives each member as it is spelled", () => {
    const text = '{ "b" : 1.0 ,"2":{"y":[1e2,"]}\\""]}, "\\u0061":"\\\\" ,"n":null}';
    expect([...toMembers(text)]).toEqual([
      ["b", "1.0"],
      ["2", '{"y":[1e2,"]}\\""]}'],
      ["a", '"\\\\"'],
      ["n", "null"],
    ]);
  });

  it("takes the last of two members with one key", () => {
    expect([...toMembers('{"a":1,"a":[2]}')]).toEqual([["a", "[2]"]]);
  });

  it("finds none in a text that is not an object", () => {
    expect(toMembers("[1]").size + toMembers('"{"').size + toMembers("{}").size).toBe(0);
  });
});

describe("splitElements()", () => {
  it("gives each element as it is spelled", () => {
    expect(splitElements('[ {"a": 1} , "x,]" ,[],\n-0.50]')).toEqual(['{"a": 1}', '"x,]"', "[]", "-0.50"]);
  });

  it("finds none in a text that is not a list", () => {
    expect([...splitElements("{}"), ...splitElements("[ ]"), ...splitElements("1")]).toEqual([]);
  });
});

describe("compactJson()", () => {
  it("leaves out the white space between tokens, and changes nothing else", () => {
    const text = ' {"a b" : [ 1.0 , "x \\" y\\\\" ],\n\t"\\u0061":{ } }\r\n';
    expect(compactJson(text)).toBe('{"a b":[1.0,"x \\" y\\\\"],"\\u0061":{}}');
  });

  it("writes any JSON as JSON.stringify does", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(8), (json, indent) => {
        const value = JSON.parse(json);
        expect(compactJson(JSON.stringify(value, undefined, indent))).toBe(JSON.stringify(value));
      }),
    );
  });
});

describe("taking JSON apart and putting it together", () => {
  it("changes nothing", () => {
    const spacing = fc.constantFrom(0, 1, 2);
    const anything = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue());
    fc.assert(
      fc.property(anything, fc.array(fc.jsonValue()), spacing, (object, list, space) => {
        const members = toMembers(JSON.stringify(object, undefined, space));
        const elements = splitElements(JSON.stringify(list, undefined, space));
        const reread = Object.fromEntries([...members].map(([key, text]) => [key, JSON.parse(text)]));
        expect(reread).toEqual(JSON.parse(JSON.stringify(object)));
        expect(elements.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(list)));
      }),
      { seed: 1 },
    );
  });

  it("writes like JSON.stringify", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(stringifyJson(value)).toBe(JSON.stringify(value));
      }),
      { seed: 2 },
    );
  });
});

describe("sourceObject()", () => {
  it("is written as it is spelled, and undefined values are left out", () => {
    const body = {
      a: sourceObject('{"z":1.0, "1":2}'),
      none: undefined,
      list: [sourceObject("{}"), undefined],
    };
    expect(stringifyJson(body)).toBe('{"a":{"z":1.0, "1":2},"list":[{},null]}');
    expect(getSourceText(body.a)).toBe('{"z":1.0, "1":2}');
    expect(getSourceText({ text: "{}" })).toBeUndefined();
  });

  it("can stand alongside numbers that no double holds", () => {
    expect(stringifyJson(parseJson('{"id":12345678901234567890}'))).toBe('{"id":12345678901234567890}');
  });
});
