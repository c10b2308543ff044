import type { FieldError } from './field-errors.ts';

/**
 * A field of a client that a feature brings. The feature declares its type as a member of `Client` and `ClientFields`: a text that may be
 * missing, or a list of texts.
 */
export interface FurtherField {
  /** The name of the field, such as `backgroundUri`. */
  readonly name: string;
  /**
   * The column in the table of clients, such as `background_uri`; also the name of the field in metadata (RFC 7591) and in the output of
   * commands.
   */
  readonly column: string;
  readonly isList: boolean;
  /** The kinds of clients that can have the field. */
  readonly kinds: readonly string[];
  /** Returns the mistakes in a value that has the right type. */
  readonly check: (
    value: string | readonly string[],
    client: { readonly native: boolean },
  ) => readonly FieldError[];
  /** The name of the field in the output of commands, and the help of their option. */
  readonly label: string;
  readonly help: string;
  /** Further members in the metadata of an app that has the field. */
  readonly metadata?: Readonly<Record<string, true>>;
}

/** The members of a client that features declare. */
export interface FurtherClientFields {}

/** The members that features declare for the fields that a client is registered with. */
export interface GivenFurtherFields {}

/** The members of a client's metadata (RFC 7591 section 2) for these fields. */
export interface FurtherClientMetadata {}

/** The fields of clients that features bring. */
export interface FurtherFields {
  /** The fields of the features that are on. */
  readonly on: readonly FurtherField[];
  /** Also the fields of features that are off, because clients may still have them. */
  readonly all: readonly FurtherField[];
}
