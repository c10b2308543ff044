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
