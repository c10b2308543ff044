import { Provider } from 'oidc-provider';
import type { Client, Configuration } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { RecordUse } from '../clients/last-use.ts';
import type { AuditLog, ClientThrottle, CredentialStore, StoredClient } from '../contracts/index.ts';
import { ConfigError, TooManyAttemptsError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { recordAuditEvents, recordOutcomes } from './audit.ts';
import { engineConfiguration } from './configuration.ts';
import type { ConfigurationParts } from './configuration.ts';
import { currentRequest, requestOf } from './engine-request.ts';
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

  cacheBuiltClients(provider, clients);

  // The engine builds URLs from the `Host` header, which the caller chooses; this builds them from the issuer.
  provider.OIDCContext.prototype.urlFor = (name, values) => provider.urlFor(name, values);

  // `Secure` cookies follow the issuer's scheme, because a TLS proxy may forward requests to this process without TLS.
  Object.defineProperty(provider.request, 'secure', { value: options.secure });

  recordOutcomes(provider);
  preventOpenRedirects(provider);
  recordAuditEvents(provider, audit, recordUse);
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
 * Disabled clients are hidden from the engine.
 */
function cacheBuiltClients(provider: Provider, clients: Pick<ClientDirectory, 'find'>): void {
  const build = provider.Client.find.bind(provider.Client);
  // Keyed by the directory's object: a client that was changed or read again is another object, so the engine builds it again.
  const built = new WeakMap<StoredClient, Client>();

  provider.Client.find = async function find(id) {
    // The engine answers for a missing or malformed id; the storage is not read for it.
    if (typeof id !== 'string' || id === '') return build(id);
    const request = currentRequest();
    request?.recordClientId(id);
    const stored = await clients.find(id);
    if (stored) request?.recordClient(stored);
    if (stored?.client.disabled) return undefined;
    const cached = stored && built.get(stored);
    if (cached) return cached;
    const client = await build(id);
    if (stored && client) built.set(stored, client);
    return client;
  };
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
