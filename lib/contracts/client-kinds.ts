import type { ClientFields } from './client-registry.ts';
import type { Client, ClientLifetimes } from './clients.ts';
import type { FieldErrorCode } from './field-errors.ts';

/** Fields of a client, each with the mistake for a client that lacks it, or that has it. */
export type FieldRules = Readonly<
  Partial<Record<keyof ClientFields | `lifetimes.${keyof ClientLifetimes}`, FieldErrorCode>>
>;

/** A kind of clients: how such a client gets its tokens, and what follows from that. The core has two kinds, and features add others. */
export interface ClientKind {
  /** The `grantType` that a client is registered with and stored with. */
  readonly name: string;
  /** The grant types of such a client at the token endpoint, besides `refresh_token`. */
  readonly grantTypes: readonly string[];
  /** Whom the tokens of such a client speak for. Tokens for users can be refreshed. */
  readonly actsFor: 'users' | 'itself';
  /** The fields that such a client must have, and those that it must not have. Other fields are optional. */
  readonly required: FieldRules;
  readonly forbidden: FieldRules;
  /** Whether the developer area registers such a client without a secret, because it could not keep one. */
  readonly isPublic?: true;
  /** The path of the endpoint at which such a client begins, below the issuer. */
  readonly endpoint?: string;
  /** The sentences of the pages about the kind. The pages name each one `kind.<name>.<key>`. */
  readonly texts: { readonly en: KindTexts; readonly de: KindTexts };
  /** What the command line says about the kind. */
  readonly command: { readonly about: string; readonly example: string };
  /** How such a client gets a token. */
  readonly firstCall: FirstCall;
  /** The examples in the documentation of an API, in this order. */
  readonly examples: readonly { readonly title: string; readonly proof: 'secret' | 'none' }[];
}

/** The sentences about a kind. */
export interface KindTexts {
  readonly name: string;
  readonly hint: string;
  /** The name of the endpoint's URL. */
  readonly endpoint?: string;
  /** The purpose of each step of the first call: `step.<about>`. */
  readonly [step: `step.${string}`]: string;
}

/** What the examples need to know about an app. */
export interface ConnectedApp {
  readonly issuer: string;
  readonly clientId: string;
  /** How the app authenticates (RFC 6749 section 2.3, RFC 7523). */
  readonly proof: 'secret' | 'assertion' | 'none';
  /** The redirect URI; `''` for an app without one. */
  readonly redirectUri: string;
  /** The API that the token is for (RFC 8707); `undefined` for the default API. */
  readonly resource?: string | undefined;
  /** The scopes that the app asks for, where its tokens are for users; `undefined`: it names none. */
  readonly scope: string | undefined;
  /** URL of the API that is called with the token; `undefined` when the server does not know one. */
  readonly apiUrl: string | undefined;
}

/**
 * How a kind of clients gets a token, as templates. `{{name}}` stands for a value as a literal of the language; a line with an unknown
 * value is left out. `{{proof}}` stands for the lines that authenticate the client. In JavaScript and Python, the code sets `tokens`.
 */
export interface FirstCall {
  readonly curl: readonly ExampleStep[];
  readonly javascript: Program;
  readonly python: Program;
  /** Values besides `clientId`, `endpoint`, `redirectUri`, `resource`, `scope` and `tokenUrl`. */
  readonly values?: (app: ConnectedApp & { readonly endpoint: string }) => Readonly<Record<string, string>>;
}

interface Program {
  readonly imports?: string;
  readonly code: string;
}

/** A step of an example: lines to copy unchanged. */
export interface ExampleStep {
  /**
   * The name of the sentence that says what the step is for: a sentence of the pages or, for a step of a kind, its name without
   * `kind.<kind>.step.` in front.
   */
  readonly about: string;
  readonly code: string;
}

/** The kinds of clients, by name. */
export interface ClientKinds {
  /** The kinds that the server supports. */
  readonly on: ReadonlyMap<string, ClientKind>;
  /** Also the kinds of features that are off, because such clients may be stored. */
  readonly all: ReadonlyMap<string, ClientKind>;
  /** How clients of a kind get a token on the server. @param client - `undefined`: any client of the kind */
  firstCallOf(this: void, kind: ClientKind, client?: Client): FirstCall;
}

/** The sentences of kinds in one language, by their names on the pages. */
export function textsOfKinds(kinds: Iterable<ClientKind>, language: 'en' | 'de'): Record<string, string> {
  return Object.fromEntries(
    [...kinds].flatMap(({ name, texts }) =>
      Object.entries(texts[language]).map(([key, text]) => [`kind.${name}.${key}`, text]),
    ),
  );
}
