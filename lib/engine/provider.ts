import type { Context } from 'koa';
import compose from 'koa-compose';
import { errors, Provider } from 'oidc-provider';
import type { Client, ExternalSigningKey } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { LastUses } from '../clients/last-use.ts';
import type { KeySet, RemoteKeys } from '../clients/remote-keys.ts';
import type { AuditLog, ClientAttempt, Limiter, Pages, StoredClient } from '../contracts/index.ts';
import { ClientSourceError, TooManyAttemptsError } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { recordEvents } from './audit.ts';
import { presentedAssertion, refuseReplays } from './client-assertion.ts';
import { engineConfiguration, joinConfigurations } from './configuration.ts';
import { silenceBodyWarning } from './body-warning.ts';
import { createAdapterFactory } from './models.ts';
import type { ClientKinds } from '../contracts/client-kinds.ts';
import type { EndpointRule } from './endpoints.ts';
import type { EnginePart, GrantType, AuthenticatedTokenRequest } from './part.ts';
import { postResponses } from './posted-response.ts';
import { preventOpenRedirects } from './render-error.ts';
import { replaceClientCalls } from './calls-without-context.ts';
import type { ClientCalls } from './calls-without-context.ts';
import { requestedGrantType } from './outcome.ts';
import { TooManyAttempts } from './refusals.ts';
import { engineRequestOf } from './request.ts';
import type { EngineRequest, RunningEngine } from './request.ts';

/** The parts of the server that the engine needs besides the options. */
export interface ProviderParts {
  readonly audit: AuditLog;
  readonly clients: ClientDirectory;
  readonly endpoints: readonly EndpointRule[];
  readonly clientKinds: ClientKinds;
  /** Of failed authentications. */
  readonly limiter: Limiter<ClientAttempt> | undefined;
  readonly pages: Pages;
  readonly appUsed: LastUses['appUsed'];
  /** `undefined`: clients cannot authenticate with keys. */
  readonly remoteKeys: RemoteKeys | undefined;
  readonly secrets: Secrets;
  /** The keys that sign, the current one first. */
  readonly signingKeys: () => readonly ExternalSigningKey[];
}

/**
 * Makes the engine from its settings and those that the modules add, overrides what its configuration has no option for, and
 * subscribes to its events.
 */
export function createEngine(
  options: ResolvedOptions,
  parts: ProviderParts,
  added: readonly EnginePart[],
): RunningEngine {
  const { appUsed, audit, clients, endpoints } = parts;
  silenceBodyWarning();
  const provider = new Provider(options.issuer, {
    ...joinConfigurations(engineConfiguration(options, parts), [
      ...added,
      { configuration: { routes: routesOf(endpoints) } },
    ]),
    adapter: createAdapterFactory(clients, parts.clientKinds, added),
    jwks: { keys: [...parts.signingKeys()] },
  });

  replaceClientCalls(provider, {
    find: createFindClient(provider, clients, parts.remoteKeys),
    hasSecret: createHasSecret(parts),
    allowsGrantType,
  });
  if (parts.remoteKeys) refuseReplays(provider, options.storage.clients);

  // The engine builds URLs from the `Host` header, which the caller chooses; this builds them from the issuer.
  provider.OIDCContext.prototype.urlFor = (name, values) => provider.urlFor(name, values);

  // `Secure` cookies follow the issuer's scheme, because a TLS proxy may forward requests to this process without TLS.
  Object.defineProperty(provider.request, 'secure', { value: options.secure });

  acceptIdTokensAlone(provider);
  const grants = added.flatMap((part) => part.grants ?? []);
  for (const grant of grants) registerGrant(provider, grant);
  preventOpenRedirects(provider);
  postResponses(provider, parts.pages);
  recordEvents(provider, audit, { appUsed, endpoints });
  options.onProvider?.(provider);
  return {
    provider,
    run: compose([...provider.middleware]),
    grants: new Map(grants.map((grant) => [grant.name, grant])),
    clientOf: clientOfGrants(grants),
  };
}

/** Makes `RunningEngine.clientOf`. */
function clientOfGrants(grants: readonly GrantType[]): RunningEngine['clientOf'] {
  const byName = new Map(grants.map(({ clientOf, name }) => [name, clientOf]));
  if (![...byName.values()].some((clientOf) => clientOf !== undefined)) return undefined;
  return (parameters) => byName.get(parameters.get('grant_type') ?? '')?.(parameters);
}

/**
 * Secrets are stored as hashes, and several are valid at once; the engine would compare one plain value. Its author recommends to replace
 * that (panva/node-oidc-provider#631).
 */
function createHasSecret({
  clients,
  limiter,
}: Pick<ProviderParts, 'clients' | 'limiter'>): ClientCalls['hasSecret'] {
  return async function hasSecret(request, { clientId }, presented) {
    const { client: stored, host } = request;
    // The engine authenticates the client that it has looked up just before.
    if (stored?.client.id !== clientId) return false;
    try {
      return await clients.verifySecret(stored, presented, {
        checkAttempts: () => limiter?.check({ clientId, address: host.ip }),
        expired(secret) {
          request.expiredSecret = secret;
        },
      });
    } catch (error) {
      throw TooManyAttempts.instead(error);
    }
  };
}

function routesOf(endpoints: readonly EndpointRule[]): Record<string, string> {
  return Object.fromEntries(
    endpoints.flatMap(({ engineRoute, path }) => (engineRoute && path ? [[engineRoute, path]] : [])),
  );
}

/**
 * To a grant type that the client may not use, the engine itself answers `invalid_request` (actions/token.js,
 * actions/authorization/client.js). RFC 6749 section 5.2 has a code for it.
 *
 * @throws UnauthorizedClient when the request asks for it. Not for a grant type that this server does not have, by which `grantTypeOf` of
 * outcome.ts asks
 */
function allowsGrantType(request: EngineRequest | undefined, { grantTypes }: Client, type: string): boolean {
  if (grantTypes?.includes(type)) return true;
  if (request && type === requestedGrantType(request)) {
    throw new errors.UnauthorizedClient(
      'this client may not use this grant type',
      'requested grant type is not allowed for this client',
    );
  }
  return false;
}

/** The `typ` of an ID token, which tells it from the other JWTs for a client, such as a logout token (RFC 8725 section 3.12). */
export const ID_TOKEN_TYPE = 'JWT';

/** The engine takes every JWT of this server that is for the client for an `id_token_hint`. */
function acceptIdTokensAlone({ IdToken }: Provider): void {
  const validate = IdToken.validate.bind(IdToken);
  IdToken.validate = async function validateIdToken(...given) {
    const token = await validate(...given);
    // The engine makes an error of the protocol of it.
    if (token.header['typ'] !== ID_TOKEN_TYPE) throw new Error(`its typ is not ${ID_TOKEN_TYPE}`);
    return token;
  };
}

function registerGrant(provider: Provider, { handle, name, parameters }: GrantType): void {
  provider.registerGrantType(
    name,
    async (ctx) => handle(ctx, engineRequestOf(ctx) as AuthenticatedTokenRequest),
    [...parameters],
    // Several resources are `invalid_target` (RFC 8707 section 2), not `invalid_request`.
    ['resource'],
  );
}

/**
 * Makes the engine reuse the client objects that it has built, for as long as the client directory caches their rows. The
 * engine's own cache holds a hundred clients, and hashes the stored metadata at each look-up.
 *
 * Disabled clients are hidden from the engine. Those that are not stored are found where a request may begin with them. A client has one method of authentication for the engine, so a
 * client with keys and secrets is built for the method that the request uses.
 */
function createFindClient(
  { Client }: Provider,
  clients: ClientDirectory,
  remoteKeys: RemoteKeys | undefined,
): ClientCalls['find'] {
  const build = Client.find.bind(Client);
  // Keyed by the directory's object: a client that was changed or read again is another object, so the engine builds it again. And
  // by the keys that it was built with, because those of a URL change by themselves; and for requests whose grant authenticates it.
  const built = new WeakMap<StoredClient, Map<KeySet | 'of grant' | undefined, Client>>();

  return async function find(request, id) {
    if (typeof id !== 'string' || id === '') return undefined;
    if (request) request.clientId ??= id;
    const stored = request?.endpoint.findsUnstoredClients
      ? await resolveClient(clients, id, request.host)
      : await clients.find(id);
    if (stored && request) {
      request.client = stored;
      request.clientSequence ??= stored.sequence;
    }
    if (!stored || stored.client.disabled) return undefined;
    if (request && !request.endpoint.findsUnstoredClients && !clients.isStored(stored)) return undefined;
    // Only of the client that authenticates, not of one whose token is introspected.
    const isCaller = request?.clientId === id;
    if (remoteKeys && isCaller) request.assertion = await assertionOf(request, stored, remoteKeys);
    const ofRequest = request?.clientOfGrant === id ? 'of grant' : request?.assertion?.keys;
    const form = isCaller ? ofRequest : undefined;
    const forms = built.get(stored) ?? new Map<KeySet | 'of grant' | undefined, Client>();
    built.set(stored, forms);
    // It reads the client again by the model of clients (models.ts), which takes the method of authentication from the request.
    const client = forms.get(form) ?? (await build(id));
    if (client) forms.set(form, client);
    return client;
  };
}

/** @throws TooManyAttempts for the response, when too many requests wait for keys */
async function assertionOf(
  request: EngineRequest,
  { client }: StoredClient,
  remoteKeys: RemoteKeys,
): ReturnType<typeof presentedAssertion> {
  try {
    return await presentedAssertion(request, client, remoteKeys);
  } catch (error) {
    throw TooManyAttempts.instead(error, 'requests that wait for the keys of clients');
  }
}

/** @throws CustomOIDCProviderError for the error page, with an error code of this server */
async function resolveClient(
  clients: Pick<ClientDirectory, 'resolve'>,
  id: string,
  host: Context,
): Promise<StoredClient | undefined> {
  try {
    return await clients.resolve(id, host.ip);
  } catch (error) {
    if (error instanceof ClientSourceError)
      throw new errors.CustomOIDCProviderError(`client_source_${error.reason}`, error.message);
    if (!(error instanceof TooManyAttemptsError)) throw error;
    host.set('Retry-After', String(error.retryAfter));
    const refused = new errors.CustomOIDCProviderError(
      'too_many_attempts',
      'too many clients were looked up',
    );
    throw Object.assign(refused, { status: 429, statusCode: 429 });
  }
}
