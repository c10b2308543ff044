import type { Context } from 'koa';
import { errors, Provider } from 'oidc-provider';
import type { Client, Configuration } from 'oidc-provider';

import type { DocumentDirectory } from '../clients/metadata-documents.ts';
import type { RecordUse } from '../clients/last-use.ts';
import type { KeySet, RemoteKeys } from '../clients/remote-keys.ts';
import type { AuditLog, ClientThrottle, CredentialStore, StoredClient } from '../contracts/index.ts';
import { ClientMetadataError, ConfigError, TooManyAttemptsError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { recordAuditEvents, recordOutcomes } from './audit.ts';
import { presentedAssertion, refuseReplays } from './client-assertion.ts';
import { engineConfiguration } from './configuration.ts';
import type { ConfigurationParts } from './configuration.ts';
import { currentRequest, requestOf } from './engine-request.ts';
import { rememberMiddleware } from './form-request.ts';
import type { RedemptionSettings } from './redemption.ts';
import { preventOpenRedirects } from './render-error.ts';
import { createReserveClaims } from './token-claims.ts';
import { TooManyAttempts } from './token-response.ts';

/**
 * Holds the engine of a server. The engine reads its signing keys only when it is made, so a new one is made when they change;
 * requests that are under way continue with the engine that they started with.
 */
export class Engine {
  #make: (() => Provider) | undefined;
  #provider: Provider | undefined;

  /** Makes the first engine. Separate from the constructor, because the pages need this object and `make` needs the pages. */
  start(make: () => Provider): void {
    this.#make = make;
    this.#provider = make();
  }

  /** Makes a new engine for later requests. Does nothing before `start`. */
  restart(): void {
    if (this.#make) this.#provider = this.#make();
  }

  /** The current engine. Bound, so that it can be passed as a function. @throws Error before `start` */
  readonly provider = (): Provider => {
    if (!this.#provider) throw new Error('The engine was used before it was started');
    return this.#provider;
  };
}

/** The parts of the server that the engine needs besides the options. */
export interface ProviderParts extends ConfigurationParts {
  readonly audit: AuditLog;
  readonly recordUse: RecordUse;
  /** `undefined`: clients cannot authenticate with keys. */
  readonly remoteKeys: RemoteKeys | undefined;
  readonly throttle: ClientThrottle;
}

/**
 * Makes the engine, overrides what its configuration has no option for, and subscribes to its events.
 *
 * @throws ConfigError when the option `configure` returned no valid configuration
 */
export function createProvider(options: ResolvedOptions, parts: ProviderParts): Provider {
  const { audit, clients, recordUse, throttle } = parts;
  const configuration = engineConfiguration(options, parts);
  const reserveClaims = createReserveClaims(configuration, { ...options, clients });
  const provider = constructProvider(options, options.configure(configuration), reserveClaims);

  // Secrets are stored as hashes, and several are valid at once; the engine would compare one plain value. Its author
  // recommends this override (panva/node-oidc-provider#631).
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(presented) {
    const { clientId } = this;
    const address = currentRequest()?.host.ip ?? '';
    try {
      return await clients.verifySecret(clientId, presented, () => throttle.check(clientId, address));
    } catch (error) {
      throw error instanceof TooManyAttemptsError ? new TooManyAttempts(error) : error;
    }
  };

  cacheBuiltClients(provider, clients, parts.remoteKeys, options);
  if (parts.remoteKeys) refuseReplays(provider, options.storage.assertions);

  // The engine builds URLs from the `Host` header, which the caller chooses; this builds them from the issuer.
  provider.OIDCContext.prototype.urlFor = (name, values) => provider.urlFor(name, values);

  // `Secure` cookies follow the issuer's scheme, because a TLS proxy may forward requests to this process without TLS.
  Object.defineProperty(provider.request, 'secure', { value: options.secure });

  recordOutcomes(provider);
  preventOpenRedirects(provider);
  recordAuditEvents(provider, audit, recordUse);
  rememberMiddleware(provider);
  options.engine?.(provider);
  return provider;
}

/**
 * Checks the configuration first: without one the engine stores in memory, and signs with keys that are public in its source.
 */
function constructProvider(
  options: ResolvedOptions,
  configuration: Configuration | undefined,
  reserveClaims: (configuration: Configuration) => Configuration,
): Provider {
  const { issuer, storage } = options;
  if (typeof configuration?.adapter !== 'function') {
    throw new ConfigError('configure', 'return the configuration of the engine; it returned something else');
  }
  try {
    return new Provider(
      issuer,
      redeemWithoutRefreshToken(reserveClaims(configuration), storage.credentials, options),
    );
  } catch (cause) {
    const { message } = cause as Error;
    throw new ConfigError('configure', `the engine rejects the configuration that it returned: ${message}`, {
      cause,
    });
  }
}

/**
 * Makes the engine reuse the client objects that it has built, for as long as the client directory caches their rows. The
 * engine's own cache holds a hundred clients, and hashes the stored metadata at each look-up.
 *
 * Disabled clients are hidden from the engine, and without the option `clientIdMetadata` clients with a metadata document too. Only
 * the authorization endpoint finds those that are not stored. A client has one method of authentication for the engine, so a
 * client with keys and secrets is built for the method that the request uses.
 */
function cacheBuiltClients(
  provider: Provider,
  clients: DocumentDirectory,
  remoteKeys: RemoteKeys | undefined,
  { clientIdMetadata }: Pick<ResolvedOptions, 'clientIdMetadata'>,
): void {
  const build = provider.Client.find.bind(provider.Client);
  // Keyed by the directory's object: a client that was changed or read again is another object, so the engine builds it again.
  const built = new WeakMap<StoredClient, Client>();
  // With the keys that they were built with, because those of a URL change by themselves.
  const builtWithKeys = new WeakMap<StoredClient, { readonly keys: KeySet; readonly client: Client }>();

  async function findWithKeys(id: string, stored: StoredClient, keys: KeySet): Promise<Client | undefined> {
    const cached = builtWithKeys.get(stored);
    if (cached?.keys === keys) return cached.client;
    const client = await build(id);
    if (client) builtWithKeys.set(stored, { keys, client });
    return client;
  }

  provider.Client.find = async function find(id) {
    // The engine answers for a missing or malformed id; the storage is not read for it.
    if (typeof id !== 'string' || id === '') return build(id);
    const request = currentRequest();
    request?.recordClientId(id);
    const stored =
      request?.endpoint === 'authorization'
        ? await resolveClient(clients, id, request.host)
        : await clients.find(id);
    if (stored && request && request.endpoint !== 'authorization' && !clients.isStored(stored))
      return undefined;
    if (stored) request?.recordClient(stored);
    if (stored?.client.disabled) return undefined;
    if (!clientIdMetadata && stored?.client.registration === 'metadata_document') return undefined;
    // Only of the client that authenticates, not of one whose token is introspected.
    if (remoteKeys && stored && request?.clientId === id) {
      request.presentAssertion(await presentedAssertion(stored.client, remoteKeys));
      const keys = request.assertion?.keys;
      if (keys) return findWithKeys(id, stored, keys);
    }
    const cached = stored && built.get(stored);
    if (cached) return cached;
    const client = await build(id);
    if (stored && client) built.set(stored, client);
    return client;
  };
}

/** @throws CustomOIDCProviderError for the error page, with an error code of this server */
async function resolveClient(
  clients: Pick<DocumentDirectory, 'resolve'>,
  id: string,
  host: Context,
): Promise<StoredClient | undefined> {
  try {
    return await clients.resolve(id, host.ip);
  } catch (error) {
    if (error instanceof ClientMetadataError)
      throw new errors.CustomOIDCProviderError(`client_metadata_${error.reason}`, error.message);
    if (!(error instanceof TooManyAttemptsError)) throw error;
    host.set('Retry-After', String(error.retryAfter));
    const refused = new errors.CustomOIDCProviderError(
      'too_many_attempts',
      'too many metadata documents were requested',
    );
    throw Object.assign(refused, { status: 429, statusCode: 429 });
  }
}

type IssueRefreshToken = NonNullable<Configuration['issueRefreshToken']>;

/**
 * Redeems a code for which no refresh token is issued, which the option `configure` can decide. Any other code is redeemed when
 * its refresh token is saved (see adapter/credentials.ts). Both happen before the engine emits `grant.success`.
 */
function redeemWithoutRefreshToken(
  configuration: Configuration,
  credentials: CredentialStore,
  settings: RedemptionSettings,
): Configuration {
  const { issueRefreshToken = onOfflineAccess } = configuration;
  return {
    ...configuration,
    async issueRefreshToken(ctx, client, source) {
      const isIssued = await issueRefreshToken(ctx, client, source);
      if (!isIssued) await requestOf(ctx).credential?.redeem(credentials, settings);
      return isIssued;
    },
  };
}

// The engine's default.
const onOfflineAccess: IssueRefreshToken = async (_ctx, client, source) =>
  client.grantTypeAllowed('refresh_token') && source.scopes.has('offline_access');
