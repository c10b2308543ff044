import type { ClientMetadataDocument } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { object, optional } from './declare.ts';
import type { Check, Given, Values } from './declare.ts';
import { registration } from './registration.ts';
import { scopesOfAll } from './resources.ts';
import type { ResolvedResource } from './resources.ts';
import { scopeNames } from './scopes.ts';
import { boolean, fn, names } from './values.ts';

const CLIENT_ID_METADATA = {
  /**
   * Decides whether an app may be authorized, such as by the host of its URL; `() => true`: every app. Called for each authorization
   * request with the `client_id`, before anything is fetched, so a changed decision takes effect at once. One that reads `document`
   * is called again with the checked document, and only that answer counts: before, each read of `document` throws. Apps that are
   * refused keep the tokens that they have: to end these, disable or delete the app.
   */
  allow: fn<(url: string, document: ClientMetadataDocument) => boolean | Promise<boolean>>(
    'pass a function that decides which apps may connect, such as (url) => hosts.has(new URL(url).host)',
  ),
  /**
   * The scopes that such an app may request. A scope that is removed here is removed from apps that are stored already, too; one of
   * them can be limited further with `auth.clients.update()`.
   */
  scopes: scopeNames,
  /** The scopes that a request without `scope` gets. @default none: the app learns who the user is, and nothing else */
  defaultScopes: optional(scopeNames, []),
  /**
   * Whether documents at `http://localhost` or a loopback address, with any port, are accepted too, to try an app on one machine. Only
   * with an issuer there, and not with `NODE_ENV=production`.
   * @default false
   */
  loopback: optional(boolean, false),
};

/** Which apps that nobody registered may connect, and what they may request. */
export interface ClientIdMetadata extends Given<typeof CLIENT_ID_METADATA> {}

const clientIdMetadata: Check<ClientIdMetadata, Values<typeof CLIENT_ID_METADATA>> = object(
  CLIENT_ID_METADATA,
);

/** URLs of APIs. */
const agents: Check<boolean | readonly string[]> = (place, given) => {
  if (
    typeof given === 'boolean' ||
    (Array.isArray(given) && given.length > 0 && given.every((url) => typeof url === 'string'))
  )
    return given;
  throw new ConfigError(
    place,
    "pass true, or the URLs of the APIs for agents, such as ['https://platform.example/mcp']",
  );
};

export const CLIENTS = {
  /**
   * Whether the agents of your users connect on their own, for `createMcpEndpoint()`: sets `documents` and `registration`, where they
   * are left out, so that every app may connect and be granted the scopes of the APIs in `resources`, each of which its user is asked
   * for. The limits are those of `registration`. Where not all of `resources` are for agents, list the URLs of those that are.
   *
   *     clients: { agents: true }
   *     clients: { agents: ['https://platform.example/mcp'] }
   *
   * @default false
   */
  agents: optional(agents, false),
  /**
   * Whether confidential clients can be registered with public keys, and authenticate by assertions that they sign, instead of a
   * secret: `private_key_jwt` (RFC 7523, OpenID Connect Core 1.0 section 9). An assertion is for this server (its `aud`), expires
   * within an hour, and is accepted once on all nodes (its `jti`). When `false`, such clients cannot authenticate with their
   * keys.
   * @default false
   */
  keys: optional(boolean, false),
  /**
   * Lets apps connect that nobody registered: their `client_id` is the https URL of a document that describes them (OAuth Client ID
   * Metadata Document). The server fetches it from public addresses only. Users see the host of the URL first, and are asked at
   * each authorization that leads to their own device.
   *
   *     clients: { documents: { allow: (url) => hosts.has(new URL(url).host), scopes: ['schools:read'] } }
   *
   * @default such apps are refused, also those that users have authorized before, with all of their tokens
   */
  documents: optional(clientIdMetadata),
  /**
   * Lets apps register themselves at `POST /oauth/register` (RFC 7591), as agents do, and manage their registration (RFC 7592).
   * Users are asked for consent before such an app gets a token.
   *
   *     clients: { registration: { scopes: ['schools:read'] } }
   *
   * @default off: apps are registered by people and programs of the platform. Those that have registered themselves before stay, until
   * they are disabled or deleted
   */
  registration: optional(registration),
  /**
   * Names that users cannot give to their apps, such as the names of your own apps; names that look like them are refused too.
   * The brand of the pages is always reserved. Users with `manage_all_apps` are exempt.
   * @default []
   */
  reservedNames: optional(names, []),
  /**
   * Whether every client has to use PKCE (RFC 7636). When `false`, public clients have to; confidential clients may, and after
   * an authorization request with a `code_challenge` the code exchange requires the `code_verifier`.
   * @default false
   */
  requirePkce: optional(boolean, false),
};

/**
 * The options with what `agents` sets.
 *
 * @param resources - the APIs besides the default one
 */
export function withAgents<C extends Values<typeof CLIENTS>>(
  clients: C,
  resources: readonly Pick<ResolvedResource, 'resource' | 'scopes'>[],
): C {
  if (clients.agents === false) return clients;
  const listed = clients.agents === true ? resources.map(({ resource }) => resource) : clients.agents;
  const unknown = listed.find((url) => !resources.some(({ resource }) => resource === url));
  if (unknown !== undefined)
    throw new ConfigError('clients.agents', `the option resources has no API with the URL ${unknown}`);
  const scopes = [...scopesOfAll(resources.filter(({ resource }) => listed.includes(resource))).keys()];
  if (scopes.length === 0) {
    throw new ConfigError(
      'clients.agents',
      "name the API of the agents and its scopes in the option resources, such as { 'https://platform.example/mcp': { scopes: { ... } } }",
    );
  }
  return {
    ...clients,
    documents: clients.documents ?? clientIdMetadata('clients.documents', { allow: () => true, scopes }),
    // Many agents name no scope when they register, and one that they ask for later has to be among theirs.
    registration:
      clients.registration ?? registration('clients.registration', { scopes, defaultScopes: scopes }),
  };
}

/** How apps are registered, and how they prove who they are. */
export interface ClientOptions extends Given<typeof CLIENTS> {}
