import fc from 'fast-check';

/** The part of JSON Schema that the documents of the API have. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
}

/** Any character. Of fast-check's own unit `binary` a table of a million is made first. */
export const CHARACTER: fc.Arbitrary<string> = fc
  .nat(0x10_ffff)
  .map((code) => String.fromCodePoint(code).toWellFormed());

/** What a program may send where a schema asks for something else. */
const ODD: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: CHARACTER, maxLength: 40 }),
  fc.constantFrom(
    null,
    '',
    ' ',
    '\u0000',
    '__proto__',
    'a'.repeat(5000),
    -0,
    1e308,
    Number.MAX_SAFE_INTEGER,
    [],
    {},
  ),
);

/** Values that mostly are as a schema says. @param find - the schema of a reference */
export function arbitraryOf(schema: Schema, find: (reference: string) => Schema): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: valid(schema, find) }, { weight: 1, arbitrary: ODD });
}

function valid(schema: Schema, find: (reference: string) => Schema): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return arbitraryOf(find(schema.$ref), find);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (choices) return fc.oneof(...choices.map((choice) => arbitraryOf(choice, find)));
  const types = [schema.type ?? 'object'].flat();
  return fc.oneof(...types.map((type) => ofType(type, schema, find)));
}

function ofType(type: string, schema: Schema, find: (reference: string) => Schema): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return fc.string({
        minLength: schema.minLength ?? 0,
        maxLength: Math.min(schema.maxLength ?? 30, 200),
      });
    case 'integer':
      return fc.integer({
        min: schema.minimum ?? -5,
        max: Math.max(schema.minimum ?? -5, schema.maximum ?? 1000),
      });
    case 'number':
      return fc.double();
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}, find), {
        maxLength: Math.min(schema.maxItems ?? 4, 4),
      });
    default:
      return ofObject(schema, find);
  }
}

/** Objects of which now and then a member is missing or one is too many. */
function ofObject(
  { properties = {}, required = [] }: Schema,
  find: (reference: string) => Schema,
): fc.Arbitrary<object> {
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, member]) => {
      const value = arbitraryOf(member, find);
      return [
        name,
        required.includes(name)
          ? fc.option(value, { freq: 20, nil: undefined })
          : fc.option(value, { nil: undefined }),
      ];
    }),
  );
  return fc
    .tuple(
      fc.record(members),
      fc.option(fc.dictionary(fc.string(), ODD, { maxKeys: 2 }), { freq: 15, nil: {} }),
    )
    .map(([known, unknown]) => Object.assign(unknown, known));
}
