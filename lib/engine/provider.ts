import { Provider } from 'oidc-provider';
import type { Configuration } from 'oidc-provider';

import type { ClientThrottle } from '../contracts.ts';
import { ConfigError, TooManyAttemptsError } from '../errors.ts';
import type { ResolvedOptions } from '../options.ts';
import { keepBuiltClients } from './built-clients.ts';
import type { ClientDirectory } from './client-directory.ts';
import { currentState } from './request-state.ts';
import { spendLoneCodes } from './spend-code.ts';
import { tooManyAttempts } from './too-many-attempts.ts';

/** Makes the engine and bends it in the four places that its configuration does not reach. */
export function createProvider(
  options: ResolvedOptions,
  configuration: Configuration,
  clients: ClientDirectory,
  throttle: ClientThrottle,
): Provider {
  const provider = startEngine(options, options.configure(configuration));

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

  return provider;
}

/** Given nothing, the engine would keep everything in memory and sign with keys that anybody can read in its source. */
function startEngine(options: ResolvedOptions, configuration: Configuration | undefined): Provider {
  const { issuer, storage } = options;
  if (typeof configuration?.adapter !== 'function') {
    throw new ConfigError(
      'configure',
      'return the configuration that the engine is to use; it returned something else',
    );
  }
  try {
    return new Provider(issuer, spendLoneCodes(configuration, storage.credentials, options));
  } catch (cause) {
    const { message } = cause as Error;
    throw new ConfigError('configure', `the engine does not take what it returned: ${message}`, { cause });
  }
}
