import { Client, jsonOf, jsonSchema, userMessage } from "outrigger";
import * as z from "zod";

const Person = z.object({ name: z.string(), age: z.number() });

const client = Client.fromEnv();
const response = await client.complete({
  model: "gpt-5.2",
  messages: [userMessage("Who is meant? Alice turned 30 yesterday.")],
  responseFormat: jsonSchema("person", Person, { strict: true }),
});
const person = jsonOf(response, Person);
if (person.ok) console.log(`${person.value.name} is ${person.value.age.toFixed()}.`);
else console.error(person.error.message);
await client.close();
