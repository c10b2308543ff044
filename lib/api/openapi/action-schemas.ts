import type { Action } from '../actions/define-action.ts';
import { mapReferences } from '../actions/schemas.ts';
import type { JsonSchema } from '../actions/schemas.ts';

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
