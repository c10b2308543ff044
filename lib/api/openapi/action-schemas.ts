import type { Action, JsonSchema } from '../actions/define-action.ts';

/** The name of an action's schema among the components. */
function schemaName({ type, name }: Action, side: 'input' | 'output'): string {
  return `${type}.${name}.${side}`;
}

export function schemaReference(action: Action, side: 'input' | 'output'): { $ref: string } {
  return { $ref: `#/components/schemas/${schemaName(action, side)}` };
}

/** The input and output schemas of all actions, as components. */
export function actionSchemas(actions: readonly Action[]): Record<string, JsonSchema> {
  return Object.fromEntries(
    actions.flatMap((action) => [
      ...componentsOf(schemaName(action, 'input'), action.inputSchema),
      ...componentsOf(schemaName(action, 'output'), action.outputSchema),
    ]),
  );
}

function componentsOf(name: string, schema: JsonSchema): [string, JsonSchema][] {
  const { $schema: _dialect, $defs = {}, ...rest } = schema;
  const moved = new Map(
    Object.keys($defs as JsonSchema).map((key) => [
      `#/$defs/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      `${name}.${key.replaceAll(/[^\w.-]/g, '_')}`,
    ]),
  );

  function target(reference: string): string {
    if (!reference.startsWith('#')) return reference;
    const component = moved.get(decodeURIComponent(reference));
    return `#/components/schemas/${component ?? name + reference.slice(1)}`;
  }

  return [
    [name, mapReferences(rest, target) as JsonSchema],
    ...Object.values($defs as JsonSchema).map((part, index): [string, JsonSchema] => [
      [...moved.values()][index]!,
      mapReferences(part, target) as JsonSchema,
    ]),
  ];
}

/**
 * Copies a JSON Schema with its references changed, for a schema that becomes a part of another document: references are relative
 * to the root of the document that they are in.
 *
 * @param target - returns the reference to write for one of the schema
 */
export function mapReferences(schema: unknown, target: (reference: string) => string): unknown {
  if (Array.isArray(schema)) return schema.map((member) => mapReferences(member, target));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, member]) => [
      key,
      key === '$ref' && typeof member === 'string' ? target(member) : mapReferences(member, target),
    ]),
  );
}

/** The JSON Schema of an object's id. */
export const OBJECT_ID: JsonSchema = { type: 'string', minLength: 1, maxLength: 255 };

/** Whether `{}` is not a valid input, so that it cannot be left out. */
export function needsInput({ inputSchema: { required, type } }: Action): boolean {
  return type !== 'object' || (Array.isArray(required) && required.length > 0);
}
