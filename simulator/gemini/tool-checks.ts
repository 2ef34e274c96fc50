import type { FunctionDeclaration, GenerateContentRequest, Tool } from "../../src/wire/gemini/request.ts";
import { invalidArgument, invalidField } from "./problem.ts";

const functionName = /^[a-zA-Z_][\w.:-]{0,127}$/;

const maxDeclarations = 512;

/** Returns the functions that a request declares. */
export function declarationsIn({ tools = [] }: GenerateContentRequest): readonly FunctionDeclaration[] {
  return tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations);
}

/** Checks the tools and the tool choice of a request. Throws the error that Google returns. */
export function checkToolUse(request: GenerateContentRequest): void {
  const { tools = [] } = request;
  tools.forEach(({ functionDeclarations = [] }, tool) => {
    functionDeclarations.forEach((declaration, index) => {
      checkDeclaration(declaration, `tools[${tool}].function_declarations[${index}]`);
    });
  });
  const names = declarationsIn(request).map(({ name = "" }) => name);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw invalidArgument(`Duplicate function declaration found: ${duplicate}`);
  if (names.length > maxDeclarations) {
    throw invalidField("tools", `at most ${maxDeclarations} function declarations can be specified.`);
  }
  checkMixture(request, names);
  checkChoice(request, names);
}

function checkDeclaration(
  { name = "", parameters, parametersJsonSchema }: FunctionDeclaration,
  path: string,
): void {
  if (!functionName.test(name)) {
    throw invalidField(
      `${path}.name`,
      "[FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.",
    );
  }
  if (parameters !== undefined && parametersJsonSchema !== undefined) {
    throw invalidField(path, "parameters and parameters_json_schema cannot both be set.");
  }
}

/** Functions and hosted tools may be mixed only if the request enables it. */
function checkMixture({ tools = [], toolConfig }: GenerateContentRequest, names: readonly string[]): void {
  const isMixed = names.length > 0 && tools.some(isHosted);
  if (!isMixed || toolConfig?.includeServerSideToolInvocations === true) return;
  throw invalidArgument(
    "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.",
  );
}

function isHosted(tool: Tool): boolean {
  return Object.keys(tool).some((name) => name !== "functionDeclarations" && name !== "mcpServers");
}

function checkChoice({ toolConfig }: GenerateContentRequest, names: readonly string[]): void {
  const { mode = "AUTO", allowedFunctionNames: allowed = [] } = toolConfig?.functionCallingConfig ?? {};
  if (allowed.length > 0 && mode !== "ANY" && mode !== "VALIDATED") {
    throw invalidField(
      "tool_config.function_calling_config.allowed_function_names",
      "allowed_function_names should only be set when the mode is ANY or VALIDATED.",
    );
  }
  if (mode === "ANY" && names.length === 0) {
    throw invalidArgument("Function calling config is set without function_declarations.");
  }
  const unknown = allowed.find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw invalidField(
    "tool_config.function_calling_config.allowed_function_names",
    `${unknown} is not one of the function_declarations.`,
  );
}
