import type { ClientFields } from './client-registry.ts';
import type { ClientLifetimes } from './clients.ts';
import type { FieldErrorCode } from './field-errors.ts';

/** Fields of a client, each with the mistake of one that lacks it, or has it. */
export type FieldRules = Readonly<
  Partial<Record<keyof ClientFields | `lifetimes.${keyof ClientLifetimes}`, FieldErrorCode>>
>;

/** A kind of clients: how one gets its tokens, and what follows from it. The core has two, and features add theirs. */
export interface ClientKind {
  /** The `grantType` that a client is registered with and stored with. */
  readonly name: string;
  /** Its grant types at the token endpoint, besides that of refreshing. */
  readonly grantTypes: readonly string[];
  /** Whom its tokens speak for. Those for users can be refreshed. */
  readonly actsFor: 'users' | 'itself';
  /** The fields that a client of it must have, and must not have. Others are optional. */
  readonly required: FieldRules;
  readonly forbidden: FieldRules;
  /** Whether the developer area registers it without a secret, which it could not keep. */
  readonly isPublic?: true;
  /** The path of the endpoint at which it begins, below the issuer. */
  readonly endpoint?: string;
  /** The sentences of the pages about it. Each one is `kind.<name>.<key>` there. */
  readonly texts: { readonly en: KindTexts; readonly de: KindTexts };
  /** What the command line says of it. */
  readonly command: { readonly about: string; readonly example: string };
  /** How a client of it gets a token. */
  readonly firstCall: FirstCall;
  /** What the documentation of an API has an example for, in this order. */
  readonly examples: readonly { readonly title: string; readonly proof: 'secret' | 'none' }[];
}

/** The sentences about a kind. */
export interface KindTexts {
  readonly name: string;
  readonly hint: string;
  /** What the URL of its endpoint is called. */
  readonly endpoint?: string;
  /** What each step of its first call is for: `step.<about>`. */
  readonly [step: `step.${string}`]: string;
}

/** What the examples need to know of an app. */
export interface ConnectedApp {
  readonly issuer: string;
  readonly clientId: string;
  /** How it authenticates (RFC 6749 section 2.3, RFC 7523). */
  readonly proof: 'secret' | 'assertion' | 'none';
  /** `''` for an app without one. */
  readonly redirectUri: string;
  /** The API that the token is for (RFC 8707); `undefined` for the default one. */
  readonly resource?: string | undefined;
  /** URL of the API that is called with the token; `undefined` when the server does not know one. */
  readonly apiUrl: string | undefined;
}

/**
 * How a kind of clients gets a token, as templates. `{{name}}` is a value as a literal of the language; a line with one that is not known
 * is left out. `{{proof}}` stands for the lines that authenticate the client. In JavaScript and Python, the code sets `tokens`.
 */
export interface FirstCall {
  readonly curl: readonly ExampleStep[];
  readonly javascript: Program;
  readonly python: Program;
  /** Values besides `clientId`, `endpoint`, `redirectUri`, `resource` and `tokenUrl`. */
  readonly values?: (app: ConnectedApp & { readonly endpoint: string }) => Readonly<Record<string, string>>;
}

interface Program {
  readonly imports?: string;
  readonly code: string;
}

/** A step of an example: lines to copy, as they are. */
export interface ExampleStep {
  /** The name of the sentence that says what it is for: of the pages, or, for a step of a kind, without `kind.<kind>.step.` in front. */
  readonly about: string;
  readonly code: string;
}

/** The kinds of clients, by name. */
export interface ClientKinds {
  /** Those that the server has something for. */
  readonly on: ReadonlyMap<string, ClientKind>;
  /** And those of features that are off, of which clients may be stored. */
  readonly all: ReadonlyMap<string, ClientKind>;
}

/** The sentences of kinds in one language, by the names that pages have for them. */
export function textsOfKinds(kinds: Iterable<ClientKind>, language: 'en' | 'de'): Record<string, string> {
  return Object.fromEntries(
    [...kinds].flatMap(({ name, texts }) =>
      Object.entries(texts[language]).map(([key, text]) => [`kind.${name}.${key}`, text]),
    ),
  );
}
