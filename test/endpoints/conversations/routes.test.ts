import { afterEach, describe, expect, it } from "vitest";
import { conversationRoutes } from "../../../src/endpoints/conversations/routes.ts";
import { createTestEngine } from "../../runs/support/test-engine.ts";
import { expectValid } from "../schemas/validate.ts";
import { call, keyHolder } from "../support/call.ts";

let close: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(close.map((each) => each()));
  close = [];
});

async function open() {
  const { engine } = await createTestEngine(["hello"]);
  close.push(() => engine.close());
  return conversationRoutes(engine.threads);
}

const items = [
  { role: "developer", content: "Be brief." },
  { role: "user", content: [{ type: "input_text", text: "hi" }] },
  { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
  { type: "function_call_output", call_id: "c", output: "1" },
  { type: "computer_call_output", call_id: "k", output: { type: "computer_screenshot", file_id: "f" } },
  { type: "custom_tool_call_output", call_id: "u", output: "2" },
  { role: "assistant", content: "done" },
];

async function createWith(
  routes: Awaited<ReturnType<typeof open>>,
  given: readonly object[] = items,
): Promise<string> {
  const { body } = await call(routes, "POST /v1/conversations", { body: { items: given } });
  return String(body.id);
}

async function listed(routes: Awaited<ReturnType<typeof open>>, id: string, query = "order=asc") {
  const { body } = await call(routes, `GET /v1/conversations/${id}/items?${query}`);
  return body as {
    data: { id: string; type: string }[];
    has_more: boolean;
    first_id: string;
    last_id: string;
  };
}

describe("a conversation", () => {
  it("is created, read, changed and deleted", async () => {
    const routes = await open();
    const created = await call(routes, "POST /v1/conversations", { body: { metadata: { a: "b" } } });
    expect(created).toMatchObject({ status: 200, body: { object: "conversation", metadata: { a: "b" } } });
    const path = `/v1/conversations/${created.body.id}`;
    expectValid("ConversationResource", created.body);
    expect(created.body.id).toMatch(/^conv_[0-9a-f]{32}$/);
    expect(await call(routes, `GET ${path}`)).toEqual(created);
    const changed = await call(routes, `POST ${path}`, { body: { metadata: { c: "d" } } });
    expect(changed.body).toEqual({ ...created.body, metadata: { c: "d" } });
    expect((await call(routes, `DELETE ${path}`)).body).toEqual({
      id: created.body.id,
      object: "conversation.deleted",
      deleted: true,
    });
    expect((await call(routes, `GET ${path}`)).status).toBe(404);
  });

  it("may be created without a body", async () => {
    expect((await call(await open(), "POST /v1/conversations")).body).toMatchObject({ metadata: {} });
  });

  it("belongs to the access key that created it", async () => {
    const routes = await open();
    const mine = { caller: keyHolder("a") };
    const { body } = await call(routes, "POST /v1/conversations", { ...mine, body: { items } });
    const path = `/v1/conversations/${body.id}`;
    const all = await call(routes, `GET ${path}/items`, mine);
    const [item] = all.body.data as { id: string }[];
    for (const target of [
      `GET ${path}`,
      `DELETE ${path}`,
      `GET ${path}/items`,
      `GET ${path}/items/${item?.id}`,
    ])
      expect((await call(routes, target, { caller: keyHolder("b") })).status).toBe(404);
    expect((await call(routes, `GET ${path}/items/${item?.id}`, mine)).status).toBe(200);
  });
});

describe("the items of a conversation", () => {
  it("come back as they were given", async () => {
    const routes = await open();
    const list = await listed(routes, await createWith(routes));
    expectValid("ConversationItemList", list);
    const { data } = list;
    expect(data).toMatchObject([
      { type: "message", role: "developer", content: [{ type: "input_text", text: "Be brief." }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
      ...items.slice(2, -1),
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "done" }] },
    ]);
    expect(new Set(data.map(({ id }) => id)).size).toBe(items.length);
  });

  it("are listed page by page, in both directions", async () => {
    const routes = await open();
    const id = await createWith(routes);
    const all = (await listed(routes, id)).data;
    for (const order of ["asc", "desc"]) {
      const found: object[] = [];
      for (let after = ""; ; ) {
        const page = await listed(
          routes,
          id,
          `order=${order}&limit=2${after === "" ? "" : `&after=${after}`}`,
        );
        expect([page.first_id, page.last_id]).toEqual([page.data[0]?.id, page.data.at(-1)?.id]);
        found.push(...page.data);
        after = page.last_id;
        if (!page.has_more) break;
      }
      expect(found).toEqual(order === "asc" ? all : all.toReversed());
    }
  });

  it.each([1, 2, 3])("are all listed in pages of %i if several belong to one turn", async (limit) => {
    const routes = await open();
    const id = await createWith(routes, [
      { role: "assistant", content: "Let me see." },
      { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
      { type: "function_call", call_id: "b", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output: "1" },
      { type: "function_call_output", call_id: "b", output: "2" },
    ]);
    for (const order of ["asc", "desc"]) {
      const all = await listed(routes, id, `order=${order}`);
      expect(all.data).toHaveLength(5);
      const found: object[] = [];
      for (let after = ""; ; ) {
        const page = await listed(routes, id, `order=${order}&limit=${limit}${after}`);
        found.push(...page.data);
        expect(page.has_more).toBe(found.length < 5);
        if (!page.has_more) break;
        after = `&after=${page.last_id}`;
      }
      expect(found).toEqual(all.data);
    }
  });

  it("are listed in several pages if they are large, and none is left out", async () => {
    const routes = await open();
    const large = Array.from({ length: 4 }, (_, index) => ({
      role: "user",
      content: [{ type: "input_text", text: String(index).repeat(1_500_000) }],
    }));
    const id = await createWith(routes, large);
    const sizes: number[] = [];
    const starts: string[] = [];
    for (let after = ""; ; ) {
      const page = await listed(routes, id, `order=asc&limit=100${after}`);
      sizes.push(page.data.length);
      for (const item of page.data as { content?: { text: string }[] }[])
        starts.push(item.content?.[0]?.text.slice(0, 1) ?? "");
      if (!page.has_more) break;
      after = `&after=${page.last_id}`;
    }
    expect(starts).toEqual(["0", "1", "2", "3"]);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThan(4);
  });

  it("are listed twenty at a time by default, the latest first", async () => {
    const routes = await open();
    const texts = Array.from({ length: 20 }, (_, index) => ({ role: "user", content: `text ${index}` }));
    const id = await createWith(routes, texts);
    const extra = { items: [{ role: "user", content: "text 20" }] };
    await call(routes, `POST /v1/conversations/${id}/items`, { body: extra });
    const page = await listed(routes, id, "");
    expect(page.data).toHaveLength(20);
    expect(page.has_more).toBe(true);
    expect(page.data[0]).toMatchObject({ content: [{ text: "text 20" }] });
    expect(await listed(routes, id, "limit=21")).toMatchObject({ has_more: false });
    expect(await listed(routes, id, `limit=20&after=${page.last_id}`)).toMatchObject({
      data: [{ content: [{ text: "text 0" }] }],
      has_more: false,
    });
    expect((await listed(routes, id, "limit=100")).data).toHaveLength(21);
  });

  it.each([
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=999", "limit"],
    ["limit=1000", "limit"],
    ["limit=1.5", "limit"],
    ["limit=", "limit"],
    ["order=up", "order"],
    ["after=item_1", "after"],
  ])("cannot be listed with %s", async (query, param) => {
    const routes = await open();
    const id = await createWith(routes);
    const answer = await call(routes, `GET /v1/conversations/${id}/items?${query}`);
    const message = expect.stringContaining(JSON.stringify(query.split("=")[1]));
    expect(answer).toMatchObject({ status: 400, body: { error: { param, message } } });
  });

  it("are added, read and deleted one by one", async () => {
    const routes = await open();
    const id = await createWith(routes, []);
    const path = `/v1/conversations/${id}/items`;
    const added = await call(routes, `POST ${path}`, { body: { items: items.slice(0, 2) } });
    const data = added.body.data as { id: string }[];
    expect(added.body).toMatchObject({ object: "list", has_more: false, first_id: data[0]?.id });
    expect((await call(routes, `GET ${path}/${data[1]?.id}`)).body).toEqual(data[1]);
    const unknown = `conv_${"0".repeat(32)}`;
    for (const target of [unknown, `${unknown}/items`, `${unknown}/items/${data[1]?.id}`]) {
      const { status, body } = await call(routes, `GET /v1/conversations/${target}`);
      expect(status).toBe(404);
      expect(body.error).toMatchObject({ message: `Conversation with id '${unknown}' not found.` });
    }
    expect((await call(routes, `DELETE ${path}/${data[0]?.id}`)).body).toMatchObject({
      id,
      object: "conversation",
    });
    expect((await listed(routes, id)).data).toEqual([data[1]]);
    expect((await call(routes, `GET ${path}/${data[0]?.id}`)).status).toBe(404);
  });

  it("are found in their conversation only", async () => {
    const routes = await open();
    const [mine, other] = [
      await createWith(routes, items.slice(0, 1)),
      await createWith(routes, items.slice(1, 2)),
    ];
    const [item] = (await listed(routes, mine)).data;
    for (const method of ["GET", "DELETE"]) {
      const { status, body } = await call(routes, `${method} /v1/conversations/${other}/items/${item?.id}`);
      const message = `the item "${item?.id}" is not in the conversation`;
      expect([status, body.error]).toEqual([404, expect.objectContaining({ param: null, message })]);
    }
    expect((await listed(routes, mine)).data).toEqual([item]);
  });

  it("of one turn of the model cannot be deleted alone", async () => {
    const routes = await open();
    const id = await createWith(routes, [
      { role: "assistant", content: "Let me see." },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
    ]);
    const [first] = (await listed(routes, id)).data;
    const { status, body } = await call(routes, `DELETE /v1/conversations/${id}/items/${first?.id}`);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      param: "item_id",
      message: expect.stringContaining("2 items of a turn"),
    });
    expect((await listed(routes, id)).data).toHaveLength(2);
  });

  it.each<[string, unknown, string]>([
    ["more than 20", Array.from({ length: 21 }, () => items[0]), "items"],
    [
      "an approval",
      [
        { type: "mcp_approval_request", id: "m", server_label: "a", name: "b", arguments: "" },
        { type: "mcp_approval_response", approval_request_id: "m", approve: true },
      ],
      "items",
    ],
    ["an unknown item", [{ type: "x" }], "items[0].type"],
    ["no list", {}, "items"],
  ])("cannot be %s", async (_name, given, param) => {
    const routes = await open();
    const id = await createWith(routes, []);
    const answer = await call(routes, `POST /v1/conversations/${id}/items`, { body: { items: given } });
    expect(answer).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it("are refused with their number if they are too many", async () => {
    const routes = await open();
    const id = await createWith(routes, []);
    const given = { items: Array.from({ length: 21 }, () => items[0]) };
    const answer = await call(routes, `POST /v1/conversations/${id}/items`, { body: given });
    expect(answer.body.error).toMatchObject({
      message: expect.stringContaining("expected at most 20 elements, found 21"),
    });
  });

  it.each([
    "GET /v1/conversations/conv_1",
    "GET /v1/conversations/conv_1/items",
    "DELETE /v1/conversations/x/items/y",
  ])("%s is not found", async (target) => {
    expect((await call(await open(), target)).status).toBe(404);
  });
});
