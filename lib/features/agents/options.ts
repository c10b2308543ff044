// `hash` through the default export, as in lib/keys/hash.ts.
import crypto from 'node:crypto';

import { isLoopback } from '../../contracts/loopback.ts';
import { ConfigError } from '../../errors.ts';
import { objectOrFalse, optional } from '../../options/declare.ts';
import type { Check, Given, Values } from '../../options/declare.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';
import { scopesOfAll } from '../../options/resources.ts';
import { scopeNames } from '../../options/scopes.ts';
import { boolean, duration, fn, integer, secrets } from '../../options/values.ts';
import type { ClientMetadata, ClientMetadataDocument } from './types.ts';

/** The SHA-256 hashes of secrets, base64url. */
const hashes: Check<readonly string[]> = (place, given) =>
  secrets(place, given).map((secret) => crypto.hash('sha256', secret, 'base64url'));

const REGISTRATION = {
  /**
   * The scopes that such an app may be registered for, of any API. Other scopes that it asks for are left out, and the response says
   * which scopes it got. An app never gets more than these, whatever it changes later. @default all scopes of `apis`
   */
  scopes: optional(scopeNames),
  /**
   * The scopes of an app that names none of `scopes` when it registers; they must be among `scopes`. With an empty list, an app that
   * names no scope gets tokens that permit nothing, and an app that names only other scopes is refused. @default the scopes of `apis`;
   * none where `scopes` are given
   */
  defaultScopes: optional(scopeNames),
  /**
   * Initial access tokens, such as one per partner: random strings of at least 32 characters. Every registration has to carry one of them
   * (RFC 7591 section 3). The server keeps only their SHA-256 hashes. @default no token is needed: everyone may register
   */
  initialAccessTokens: optional(hashes),
  /**
   * Decides about each registration and each change, after all other checks. `false` refuses it.
   *
   *     allow: ({ metadata }) => metadata.redirect_uris.every((uri) => new URL(uri).hostname.endsWith('.partner.example'))
   *
   * @default every app is accepted
   */
  allow: optional(fn<(request: RegistrationRequest) => boolean | Promise<boolean>>()),
  /**
   * How many such apps may exist at a time, on all nodes together. A further app takes the place of an app that no user has authorized,
   * or that only one user has authorized who has more than five such apps or has not used it for 30 days. If there is no such app, the
   * registration gets 503.
   *
   * @default 1000
   */
  maxClients: optional(integer(1), 1000),
  /**
   * How many apps may be registered from one address in an hour, on all nodes together; the limits of its networks follow as in the
   * option `limits.attempts`. Further registrations get 429 with `Retry-After`. A public app that registers again from the same address
   * with the same name and redirect URIs, before a user has authorized it, gets the same `client_id` and does not count.
   *
   * @default 100
   */
  perAddress: optional(integer(1), 100),
  /**
   * The time after which an app that no user has authorized is removed: at least an hour, because a user has to sign in first. @default
   * '1 day'
   */
  unauthorizedAfter: optional(duration(3600), '1 day'),
  /**
   * For how long an app that users have authorized is kept after it last acted for one of them: at least a day. It is kept longer while
   * one of its tokens is valid, and removed after at most twice this time. After that, the app has to register again. A changed value
   * applies to apps that are registered from then on. @default '90 days'
   */
  unusedAfter: optional(duration(86_400), '90 days'),
};

/** Who may register apps, with which scopes, how many, and for how long they are kept (RFC 7591, RFC 7592). */
export interface DynamicRegistrationOptions extends Given<typeof REGISTRATION> {}

/** A registration, or a change of a registration, that is to be decided. */
export interface RegistrationRequest {
  /** The metadata as the server would register it. */
  readonly metadata: ClientMetadata;
  /** All metadata that the app has requested. Unchecked text of a stranger: escape it, and do not fetch its URLs. */
  readonly requestedMetadata: Readonly<Record<string, unknown>>;
  /** The address of the request: Koa's `ctx.ip`. */
  readonly address: string;
  /** The app that is changed; `undefined` for a new one. */
  readonly clientId: string | undefined;
}

/** An app whose document is to be decided. */
export interface DocumentRequest {
  /** The `client_id`: the URL of the document. */
  readonly clientId: string;
  /** The checked document. */
  readonly metadata: ClientMetadataDocument;
}

const DOCUMENTS = {
  /**
   * Decides whether an app may be authorized, such as by the host of its URL; every app by default. Called for each authorization request
   * with the `client_id`, before anything is fetched, so a changed decision takes effect at once. A function that reads a member of
   * `metadata` is called again with the checked document, and only the second answer counts: in the first call, each such read throws. An app
   * that is refused keeps its tokens: to end them, disable or delete the app.
   * @default () => true
   */
  allow: optional(
    fn<(request: DocumentRequest) => boolean | Promise<boolean>>(
      'pass a function that decides which apps may connect, such as ({ clientId }) => hosts.has(new URL(clientId).host)',
    ),
    () => true,
  ),
  /**
   * The scopes that such an app may request. A scope that is removed here is also removed from apps that are stored already.
   * `auth.clients.update()` can limit an app further. @default all scopes of `apis`
   */
  scopes: optional(scopeNames),
  /** The scopes that a request without `scope` gets. @default none: the app only learns who the user is */
  defaultScopes: optional(scopeNames),
  /**
   * Whether documents at `http://localhost` or a loopback address, with any port, are accepted too, to try an app on one machine. The
   * issuer has to be there too, and `NODE_ENV` must not be `production`.
   * @default false
   */
  loopback: optional(boolean, false),
};

/** Which apps that nobody registered may connect, and what they may request. */
export interface ClientIdMetadata extends Given<typeof DOCUMENTS> {}

/** URLs of APIs. */
const urls: Check<readonly string[]> = (place, given: unknown) => {
  if (Array.isArray(given) && given.length > 0 && given.every((url) => typeof url === 'string')) return given;
  throw new ConfigError(
    place,
    "pass the URLs of the APIs for agents, such as ['https://platform.example/mcp']",
  );
};

export const AGENTS = {
  /** The URLs of the APIs in the option `resources` that are for agents. @default all but the default API */
  apis: optional(urls),
  /**
   * Lets apps register themselves at `POST /oauth/register` (RFC 7591), and manage their registration (RFC 7592). Users are asked for
   * consent before such an app gets a token. With `false`, no app can register itself.
   */
  registration: optional(objectOrFalse(REGISTRATION), {}),
  /**
   * Lets apps connect that nobody registered: their `client_id` is the https URL of a document that describes them (OAuth Client ID
   * Metadata Document). The server fetches it from public addresses only. Users see the host of the URL first, and are asked at each
   * authorization that leads to their own device. With `false`, such apps are refused, also those that users have authorized before.
   */
  documents: optional(objectOrFalse(DOCUMENTS), {}),
};

/** The options of `agents()`. */
export interface AgentOptions extends Given<typeof AGENTS> {}

export type AgentSettings = Values<typeof AGENTS>;

/** The complete settings of apps that register themselves. Times are in seconds; `initialAccessTokens` are hashes. */
export type RegistrationPolicy = WithScopes<NonNullable<AgentSettings['registration']>>;

/** The settings of apps with documents, complete. */
export type DocumentPolicy = WithScopes<NonNullable<AgentSettings['documents']>>;

/** The part of the options, in errors. */
type Part = 'documents' | 'registration';

type WithScopes<P> = Omit<P, 'scopes' | 'defaultScopes'> & {
  readonly scopes: readonly string[];
  readonly defaultScopes: readonly string[];
};

/** Completes the settings on a server. @throws ConfigError for what does not fit the options of the server */
export function policiesOf(
  { apis, documents, registration }: AgentSettings,
  { issuer, resources, scopes }: Pick<ResolvedOptions, 'issuer' | 'resources' | 'scopes'>,
): { readonly documents: DocumentPolicy | undefined; readonly registration: RegistrationPolicy | undefined } {
  const known = [...scopes.keys()];
  // Where the other part has scopes of its own, this part may be meant to be off.
  function missingApi(part: Part): never {
    const other = part === 'documents' ? registration : documents;
    if (!other || !other.scopes) throw new ConfigError('agents()', NO_API);
    throw new ConfigError(`agents({ ${part} })`, `${NO_API}; or pass agents({ ${part}: false })`);
  }

  function complete<
    P extends { scopes: readonly string[] | undefined; defaultScopes: readonly string[] | undefined },
  >(part: Part, policy: P, preset: (scopes: readonly string[]) => readonly string[]): WithScopes<P> {
    const all = policy.scopes ?? scopesOfApis(apis, { issuer, resources }) ?? missingApi(part);
    const defaultScopes = policy.defaultScopes ?? (policy.scopes ? [] : preset(all));
    const completed = { ...policy, scopes: all, defaultScopes };
    requireScopes(part, completed, known);
    return completed;
  }
  if (documents) checkLoopback(issuer, documents);
  return {
    documents: documents && complete('documents', documents, () => []),
    // Many agents name no scope when they register, and a scope that they ask for later has to be among their registered ones.
    registration: registration && complete('registration', registration, (all) => all),
  };
}

function scopesOfApis(
  apis: readonly string[] | undefined,
  { issuer, resources }: Pick<ResolvedOptions, 'issuer' | 'resources'>,
): readonly string[] | undefined {
  const further = [...resources.values()].filter(({ resource }) => resource !== issuer);
  const listed = apis ?? further.map(({ resource }) => resource);
  const unknown = listed.find((url) => !further.some(({ resource }) => resource === url));
  if (unknown !== undefined)
    throw new ConfigError('agents({ apis })', `the option resources has no API with the URL ${unknown}`);
  const scopes = [...scopesOfAll(further.filter(({ resource }) => listed.includes(resource))).keys()];
  return scopes.length > 0 ? scopes : undefined;
}

const NO_API =
  "name the API of the agents and its scopes in the option resources, such as { 'https://platform.example/mcp': { scopes: { ... } } }";

/** @throws ConfigError where others than the developer can reach the server: programs on the server's machine would become apps */
function checkLoopback(issuer: string, { loopback }: { readonly loopback: boolean }): void {
  const isForTrial = isLoopback(new URL(issuer).hostname) && process.env['NODE_ENV'] !== 'production';
  if (!loopback || isForTrial) return;
  throw new ConfigError(
    'agents({ documents.loopback })',
    'leave it out: it is for trying an app on one machine, with an issuer such as http://localhost:3000 and without NODE_ENV=production',
  );
}

/** @throws ConfigError for unknown scopes, and for default scopes that are not allowed */
function requireScopes(
  part: Part,
  policy: { readonly scopes: readonly string[]; readonly defaultScopes: readonly string[] },
  known: readonly string[],
): void {
  const check = (option: string, listed: readonly string[], allowed: readonly string[]): void => {
    const unknown = listed.find((name) => !allowed.includes(name));
    if (unknown === undefined) return;
    const there = allowed.length === 0 ? 'there are none' : `there are ${allowed.join(', ')}`;
    throw new ConfigError(
      `agents({ ${part}.${option} })`,
      `"${unknown}" is no scope that can be listed here; ${there}`,
    );
  };
  check('scopes', policy.scopes, known);
  check('defaultScopes', policy.defaultScopes, policy.scopes);
}
