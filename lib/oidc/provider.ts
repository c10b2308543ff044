import { Provider } from 'oidc-provider';
import type { Client, Configuration } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { NoteUse } from '../clients/last-use.ts';
import type { AuditLog, ClientThrottle, StoredClient } from '../contracts/index.ts';
import { ConfigError, TooManyAttemptsError } from '../errors.ts';
import type { ResolvedOptions } from '../options/options.ts';
import { auditEvents, recordErrors } from './audit.ts';
import { engineConfiguration } from './configuration.ts';
import type { ConfigurationParts } from './configuration.ts';
import { spendLoneCodes } from './redemption.ts';
import { answerStrangersHere } from './render-error.ts';
import { currentState } from './request-state.ts';
import { createKeepClaims } from './token-claims.ts';
import { tooManyAttempts } from './token-response.ts';

/** What an engine is made of besides the options. */
export interface ProviderParts extends ConfigurationParts {
  readonly audit: AuditLog;
  readonly noteUse: NoteUse;
  readonly throttle: ClientThrottle;
}

/** Makes the engine, bends it in the places that its configuration does not reach, and follows what it does. */
export function createProvider(options: ResolvedOptions, parts: ProviderParts): Provider {
  const { audit, clients, noteUse, throttle } = parts;
  const configuration = engineConfiguration(options, parts);
  const keepClaims = createKeepClaims(configuration, { ...options, clients });
  const provider = startEngine(options, options.configure(configuration), keepClaims);

  // Secrets are kept as hashes, and several are live at once; the engine would compare one plain value. The way its
  // author recommends (panva/node-oidc-provider#631).
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(presented) {
    const { clientId } = this;
    const address = currentState()?.host.ip ?? '';
    try {
      return await clients.verifySecret(clientId, presented, () => throttle.check(clientId, address));
    } catch (error) {
      throw error instanceof TooManyAttemptsError ? tooManyAttempts(error) : error;
    }
  };

  keepBuiltClients(provider, clients);

  // The engine builds URLs from the Host header, which is the caller's word; the issuer is ours.
  provider.OIDCContext.prototype.urlFor = (name, values) => provider.urlFor(name, values);

  // Whether cookies are `Secure` follows from the issuer, not from how the last proxy speaks to this process.
  Object.defineProperty(provider.request, 'secure', { value: options.secure });

  recordErrors(provider);
  answerStrangersHere(provider);
  auditEvents(provider, audit, noteUse);
  options.engine?.(provider);
  return provider;
}

/** Given nothing, the engine would keep everything in memory and sign with keys that anybody can read in its source. */
function startEngine(
  options: ResolvedOptions,
  configuration: Configuration | undefined,
  keepClaims: (configuration: Configuration) => Configuration,
): Provider {
  const { issuer, storage } = options;
  if (typeof configuration?.adapter !== 'function') {
    throw new ConfigError('configure', 'return the configuration of the engine; it returned something else');
  }
  try {
    return new Provider(issuer, spendLoneCodes(keepClaims(configuration), storage.credentials, options));
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
function keepBuiltClients(provider: Provider, clients: Pick<ClientDirectory, 'find'>): void {
  const build = provider.Client.find.bind(provider.Client);
  // By what is remembered: a client that was changed or read anew is another object, and built anew.
  const built = new WeakMap<StoredClient, Client>();

  provider.Client.find = async function find(id) {
    // The engine says what becomes of what is no id; the storage is not asked about it.
    if (typeof id !== 'string' || id === '') return build(id);
    const state = currentState();
    if (state) state.triedClientId ??= id;
    const stored = await clients.find(id);
    if (state && stored) state.sequence ??= stored.sequence;
    if (stored?.client.disabled) {
      if (state) state.disabledClientId = stored.client.id;
      return undefined;
    }
    const known = stored && built.get(stored);
    if (known) return known;
    const client = await build(id);
    if (stored && client) built.set(stored, client);
    return client;
  };
}
