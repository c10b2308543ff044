import { Provider } from 'oidc-provider';
import type { Client, Configuration } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { RecordUse } from '../clients/last-use.ts';
import type { AuditLog, ClientThrottle, CredentialStore, StoredClient } from '../contracts/index.ts';
import { ConfigError, TooManyAttemptsError } from '../errors.ts';
import type { ResolvedOptions } from '../options/options.ts';
import { auditEvents, recordErrors } from './audit.ts';
import { keepLifetimes } from './client-lifetimes.ts';
import { engineConfiguration } from './configuration.ts';
import type { ConfigurationParts } from './configuration.ts';
import { currentRequest, requestOf } from './engine-request.ts';
import type { RedemptionSettings } from './redemption.ts';
import { answerStrangersHere } from './render-error.ts';
import { createReserveClaims } from './token-claims.ts';
import { TooManyAttempts } from './token-response.ts';

/**
 * The engine of a server. It takes its signing keys once, so it is made anew when they change; requests under way keep the one
 * that they began with.
 */
export class Engine {
  #make: (() => Provider) | undefined;
  #provider: Provider | undefined;

  /** Makes the engine, when all that it refers to is there. */
  start(make: () => Provider): void {
    this.#make = make;
    this.#provider = make();
  }

  /** Makes it anew. */
  restart(): void {
    if (this.#make) this.#provider = this.#make();
  }

  /** The one for requests that begin now. A function, so that it can be handed on. */
  readonly provider = (): Provider => {
    if (!this.#provider) throw new Error('The engine was used before it was started');
    return this.#provider;
  };
}

/** What an engine is made of besides the options. */
export interface ProviderParts extends ConfigurationParts {
  readonly audit: AuditLog;
  readonly recordUse: RecordUse;
  readonly throttle: ClientThrottle;
}

/** Makes the engine, bends it in the places that its configuration does not reach, and follows what it does. */
export function createProvider(options: ResolvedOptions, parts: ProviderParts): Provider {
  const { audit, clients, recordUse, throttle } = parts;
  const configuration = engineConfiguration(options, parts);
  const reserveClaims = createReserveClaims(configuration, { ...options, clients });
  const provider = startEngine(options, options.configure(configuration), reserveClaims);

  // Secrets are kept as hashes, and several are live at once; the engine would compare one plain value. The way its
  // author recommends (panva/node-oidc-provider#631).
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(presented) {
    const { clientId } = this;
    const address = currentRequest()?.host.ip ?? '';
    try {
      return await clients.verifySecret(clientId, presented, () => throttle.check(clientId, address));
    } catch (error) {
      throw error instanceof TooManyAttemptsError ? new TooManyAttempts(error) : error;
    }
  };

  cacheBuiltClients(provider, clients, options.lifetimes);

  // The engine builds URLs from the Host header, which is the caller's word; the issuer is ours.
  provider.OIDCContext.prototype.urlFor = (name, values) => provider.urlFor(name, values);

  // Whether cookies are `Secure` follows from the issuer, not from how the last proxy speaks to this process.
  Object.defineProperty(provider.request, 'secure', { value: options.secure });

  recordErrors(provider);
  answerStrangersHere(provider);
  auditEvents(provider, audit, recordUse);
  options.engine?.(provider);
  return provider;
}

/** Given nothing, the engine would keep everything in memory and sign with keys that anybody can read in its source. */
function startEngine(
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
 * Lets the engine find clients as it has built them before, for as long as they are remembered here. By itself it keeps a
 * hundred of them, builds any other one anew for each request, and hashes what is stored of a client to find one.
 *
 * A disabled client does not exist for the engine.
 */
function cacheBuiltClients(
  provider: Provider,
  clients: Pick<ClientDirectory, 'find'>,
  lifetimes: ResolvedOptions['lifetimes'],
): void {
  const build = provider.Client.find.bind(provider.Client);
  // By what is remembered: a client that was changed or read anew is another object, and built anew.
  const built = new WeakMap<StoredClient, Client>();

  provider.Client.find = async function find(id) {
    // The engine says what becomes of what is no id; the storage is not asked about it.
    if (typeof id !== 'string' || id === '') return build(id);
    const request = currentRequest();
    request?.lookForClient(id);
    const stored = await clients.find(id);
    if (stored) request?.foundClient(stored);
    if (stored?.client.disabled) return undefined;
    const known = stored && built.get(stored);
    if (known) return known;
    const client = await build(id);
    if (stored && client) {
      built.set(stored, client);
      keepLifetimes(client, stored, lifetimes);
    }
    return client;
  };
}

type IssueRefreshToken = NonNullable<Configuration['issueRefreshToken']>;

/**
 * Spends a code that is exchanged for no refresh token, as a host's `configure` may have it. Any other is spent when its
 * refresh token is saved (see adapter/credentials.ts). Both come before the engine says that it has issued a token.
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

// What the engine does by itself.
const onOfflineAccess: IssueRefreshToken = async (_ctx, client, source) =>
  client.grantTypeAllowed('refresh_token') && source.scopes.has('offline_access');
