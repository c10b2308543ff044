import { Provider } from 'oidc-provider';
import type { Configuration } from 'oidc-provider';

import type { ResolvedOptions } from '../options.ts';
import type { ClientDirectory } from './client-directory.ts';

/** Makes the engine and bends it in the three places that its configuration does not reach. */
export function createProvider(
  options: ResolvedOptions,
  configuration: Configuration,
  clients: ClientDirectory,
): Provider {
  const provider = new Provider(options.issuer, options.configure(configuration));

  // Secrets are kept as hashes, and several are live at once; the engine would compare one plain value. The way its
  // author recommends (panva/node-oidc-provider#631).
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(presented) {
    return clients.verifySecret(this.clientId, presented);
  };

  // The engine builds URLs from the Host header, which is the caller's word; the issuer is ours.
  provider.OIDCContext.prototype.urlFor = (name, values) => provider.urlFor(name, values);

  // Whether cookies are `Secure` follows from the issuer, not from how the last proxy speaks to this process.
  Object.defineProperty(provider.request, 'secure', { value: options.secure });

  return provider;
}
