/** A whole number as the drivers give it: PostgreSQL's has 64 bits and comes as text. */
export type Integer = number | string;

export function toOptionalNumber(value: Integer | null): number | undefined {
  return value === null ? undefined : Number(value);
}

export function toStrings(json: string): readonly string[] {
  const strings: readonly string[] = JSON.parse(json);
  return strings;
}

export function toPayload(json: string): Readonly<Record<string, unknown>> {
  const payload: Readonly<Record<string, unknown>> = JSON.parse(json);
  return payload;
}
