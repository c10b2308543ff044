import { fieldError } from '../contracts/field-errors.ts';
import type { FieldError, FurtherClientFields, FurtherField, FurtherFields } from '../contracts/index.ts';

export const NO_FURTHER_FIELDS: FurtherFields = { on: [], all: [] };

export type FurtherValue = string | readonly string[] | undefined;

/** The values of these fields in a client, or in the fields that are given for a client. */
export function furtherValues(
  of: object,
  fields: readonly FurtherField[],
): readonly (readonly [FurtherField, FurtherValue])[] {
  return fields.map((field) => [field, (of as Readonly<Record<string, FurtherValue>>)[field.name]]);
}

/** The values of these fields in a client that has none of them. */
export function withoutFurther(fields: readonly FurtherField[]): FurtherClientFields {
  return Object.fromEntries(
    fields.map(({ isList, name }) => [name, isList ? [] : undefined]),
  ) as object as FurtherClientFields;
}

export function furtherMistakes(
  of: object,
  client: { readonly native: boolean },
  fields: readonly FurtherField[],
): readonly FieldError[] {
  return furtherValues(of, fields).flatMap(([field, value]) => {
    if (value === undefined) return [];
    if (!field.isList) return field.check(value, client);
    const isOfTexts = Array.isArray(value) && value.every((entry) => typeof entry === 'string');
    return isOfTexts ? field.check(value, client) : [fieldError(field.name, 'not_strings')];
  });
}

/** The fields that a kind of client cannot have. */
export function forbiddenTo(
  kind: string,
  fields: readonly FurtherField[],
): Readonly<Record<string, 'authorization_code_only'>> {
  return Object.fromEntries(
    fields.filter(({ kinds }) => !kinds.includes(kind)).map(({ name }) => [name, 'authorization_code_only']),
  );
}
