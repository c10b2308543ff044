import { clientIdMetadata } from './client-id-metadata.ts';
import { optional } from './declare.ts';
import type { Given } from './declare.ts';
import { deviceAuthorization } from './device-authorization.ts';
import { registration } from './registration.ts';
import { boolean, names } from './values.ts';

export const CLIENTS = {
  /**
   * Whether confidential clients can be registered with public keys, and authenticate by assertions that they sign, instead of a
   * secret: `private_key_jwt` (RFC 7523, OpenID Connect Core 1.0 section 9). An assertion is for this server (its `aud`), expires
   * within 10 minutes, and is accepted once on all nodes (its `jti`). When `false`, such clients cannot authenticate with their
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
   * @default such apps are refused, also those that users have authorized before
   */
  documents: optional(clientIdMetadata),
  /**
   * Lets apps register themselves at `POST /oauth/register` (RFC 7591), as agents do, and manage their registration (RFC 7592).
   * Users are asked for consent before such an app gets a token.
   *
   *     clients: { registration: { scopes: ['schools:read'] } }
   *
   * @default off: apps are registered by people and programs of the platform
   */
  registration: optional(registration),
  /**
   * The device authorization grant (RFC 8628), for command lines, televisions and other devices without a browser: their clients
   * have the grant type `device_code`, and users enter the code that the device shows at `/oauth/device`. `true`, or an object with
   * settings. `false`: no endpoint and no page, and no client gets tokens for a device code.
   * @default false
   */
  devices: optional(deviceAuthorization, false),
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

/** How apps are registered, and how they prove who they are. */
export interface ClientOptions extends Given<typeof CLIENTS> {}
