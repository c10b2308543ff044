import type { FieldError } from './field-errors.ts';

/**
 * A field of a client that a feature brings. Its type is that of the member of `Client` and of `ClientFields` that the feature declares:
 * a text that may be missing, or a list of texts.
 */
export interface FurtherField {
  /** Among the fields of a client, such as `backgroundUri`. */
  readonly name: string;
  /** Its column in the table of clients; also its name in metadata (RFC 7591) and in the output of commands, such as `background_uri`. */
  readonly column: string;
  readonly isList: boolean;
  /** The kinds of clients that can have it. */
  readonly kinds: readonly string[];
  /** What is wrong with a value that has the right type. */
  readonly check: (
    value: string | readonly string[],
    client: { readonly native: boolean },
  ) => readonly FieldError[];
  /** What commands call it, and the help of their option. */
  readonly label: string;
  readonly help: string;
  /** Members of the metadata of an app that has it. */
  readonly metadata?: Readonly<Record<string, true>>;
}

/** The members of a client that features declare. */
export interface FurtherClientFields {}

/** The same of the fields that a client is registered with. */
export interface GivenFurtherFields {}

/** The members of a client's metadata (RFC 7591 section 2) for these fields. */
export interface FurtherClientMetadata {}

/** The fields of clients that features bring. */
export interface FurtherFields {
  /** Those of the features that are on. */
  readonly on: readonly FurtherField[];
  /** And those of features that are off, which clients may have nevertheless. */
  readonly all: readonly FurtherField[];
}
