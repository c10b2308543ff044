/** The schemas of the input and the output of actions. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

import { ConfigError } from '../../errors.ts';

/**
 * A schema of any library that implements Standard Schema and Standard JSON Schema, such as zod from 4.2.
 * See https://standardschema.dev
 */
export interface ActionSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Checks that a value is a schema. */
export function checkSchema<T extends ActionSchema>(place: string, given: T): T {
  const standard = given?.['~standard'];
  const side = standard?.jsonSchema;
  if (
    typeof standard?.validate === 'function' &&
    typeof side?.input === 'function' &&
    typeof side.output === 'function'
  ) {
    return given;
  }
  throw new ConfigError(
    place,
    'give a schema that implements Standard Schema and Standard JSON Schema, such as one of zod 4',
  );
}

/** @param fail - is called with the remedy when the library cannot convert the schema */
export function jsonSchemaOf(
  given: ActionSchema,
  side: 'input' | 'output',
  fail: (member: string, remedy: string, options?: ErrorOptions) => never,
): JsonSchema {
  try {
    // Serialized, because some libraries add members that are not part of the JSON.
    return JSON.parse(JSON.stringify(given['~standard'].jsonSchema[side]({ target: 'draft-2020-12' })));
  } catch (cause) {
    return fail(
      side,
      `it cannot be converted to JSON Schema: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        cause,
      },
    );
  }
}

/**
 * Copies a JSON Schema with its references changed, for a schema that becomes a part of another document: references are relative to the
 * root of the document that they are in.
 *
 * @param target - returns the new reference for a reference of the schema
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

/** Whether `{}` is not a valid input, so that it cannot be left out. */
export function needsInput({ required, type }: JsonSchema): boolean {
  return type !== 'object' || (Array.isArray(required) && required.length > 0);
}

/** The JSON Schema of the id of an object. */
export const OBJECT_ID_SCHEMA: JsonSchema = { type: 'string', minLength: 1, maxLength: 255 };
