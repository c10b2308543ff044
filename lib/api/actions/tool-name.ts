/** What the name of a tool is made of. */
interface ToolDefinition {
  readonly type: string;
  readonly name: string;
  readonly mcp?: boolean | string;
}

// Dots and slashes, which MCP permits too, are refused by the interfaces of large language models that clients pass the names to.
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * The name of an action's tool; `undefined`: it is not a tool.
 *
 * @param fail - is called with the remedy when the name is not possible
 */
export function toolNameOf(
  { mcp = false, name, type }: ToolDefinition,
  fail: (remedy: string) => never,
): string | undefined {
  if (mcp === false) return undefined;
  if (mcp === true) {
    const derived = derivedName(type, name);
    return TOOL_NAME.test(derived)
      ? derived
      : fail(`${derived} is longer than 64 characters: give a name, such as mcp: 'rename_school'`);
  }
  return typeof mcp === 'string' && TOOL_NAME.test(mcp)
    ? mcp
    : fail("give true, or a name of 1 to 64 letters, digits, _ and -, such as 'rename_school'");
}

// Actions are unique for each type only, and two types may each have a `close-action`.
function derivedName(type: string, name: string): string {
  const verb = name.slice(0, -'-action'.length);
  const full = verb.includes(type) ? verb : `${type}-${verb}`;
  return full.replaceAll('-', '_');
}
