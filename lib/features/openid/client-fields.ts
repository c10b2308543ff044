import { isIP } from 'node:net';

import { MOST_REDIRECT_URIS, LONGEST_URI, redirectUriMistake } from '../../clients/redirect-uris.ts';
import { fieldError } from '../../contracts/field-errors.ts';
import type { FieldError, FurtherField, Mistake } from '../../contracts/index.ts';
import { isLoopback } from '../../contracts/loopback.ts';
import { isPublicAddress } from '../../http/address.ts';

declare module '../../contracts/client-fields.ts' {
  interface FurtherClientFields {
    /**
     * Where the client may send the browser after a logout that it has asked for (OpenID Connect RP-Initiated Logout 1.0 section 3.1).
     * Compared as exact strings.
     */
    readonly postLogoutRedirectUris: readonly string[];
    /**
     * The https URL to which the server posts that a user was signed out (OpenID Connect Back-Channel Logout 1.0 section 2.2).
     * `undefined` when the client is not told.
     */
    readonly backchannelLogoutUri: string | undefined;
  }
  interface FurtherClientMetadata {
    /** Absent when there are none (OpenID Connect RP-Initiated Logout 1.0 section 3.1). */
    readonly post_logout_redirect_uris?: readonly string[];
    /** Where the client is told of logouts; absent when it is not told (OpenID Connect Back-Channel Logout 1.0 section 2.2). */
    readonly backchannel_logout_uri?: string;
    /** Present with `backchannel_logout_uri`: each logout token has the `sid` of the session. */
    readonly backchannel_logout_session_required?: true;
  }
  interface GivenFurtherFields {
    /**
     * Where the client may send the browser after a logout that it has asked for (OpenID Connect RP-Initiated Logout 1.0 section 3.1): at
     * most 100 URIs of the form of redirect URIs. For `authorization_code` only.
     * @default none: the browser stays on a page of the server
     */
    readonly postLogoutRedirectUris?: readonly string[];
    /**
     * The URL to which the server posts that a user was signed out (OpenID Connect Back-Channel Logout 1.0 section 2.2): https, or http
     * on a loopback address, at most 2000 characters, without user name, password and fragment. For `authorization_code` only.
     * @default none: the client is not told
     */
    readonly backchannelLogoutUri?: string | undefined;
  }
}

export const OPENID_CLIENT_FIELDS: readonly FurtherField[] = [
  {
    name: 'postLogoutRedirectUris',
    column: 'post_logout_redirect_uris',
    isList: true,
    kinds: ['authorization_code'],
    check: (value, client) => afterLogoutMistakes(value as readonly string[], client),
    label: 'After logout',
    help: 'where it may send the browser after a logout',
  },
  {
    name: 'backchannelLogoutUri',
    column: 'backchannel_logout_uri',
    isList: false,
    kinds: ['authorization_code'],
    check: (value) => logoutUriMistakes(value as string),
    label: 'Told of logouts',
    help: 'told when a user is signed out (OpenID Connect)',
    // Each logout token has a `sid`.
    metadata: { backchannel_logout_session_required: true },
  },
];

function afterLogoutMistakes(
  uris: readonly string[],
  client: { readonly native: boolean },
): readonly FieldError[] {
  const most = MOST_REDIRECT_URIS.registered;
  const ofEach = uris.flatMap((uri, index) => {
    const mistake: Mistake | undefined = redirectUriMistake(uri, client);
    return mistake ? [fieldError(`postLogoutRedirectUris[${index}]`, ...mistake)] : [];
  });
  return uris.length > most
    ? [fieldError('postLogoutRedirectUris', 'too_many_redirect_uris', { most }), ...ofEach]
    : ofEach;
}

function logoutUriMistakes(uri: string): readonly FieldError[] {
  if (redirectUriMistake(uri, { native: false }) !== undefined)
    return [fieldError('backchannelLogoutUri', 'logout_uri_form', { most: LONGEST_URI })];
  const { hostname, protocol } = new URL(uri);
  // A host name with a private address is refused when the server connects to it. For http, see redirectUriMistake().
  return protocol === 'https:' && (isLoopback(hostname) || isPrivateAddress(hostname))
    ? [fieldError('backchannelLogoutUri', 'logout_uri_private')]
    : [];
}

/** @param hostname - the hostname of a `URL`, which has an IPv6 address in brackets */
function isPrivateAddress(hostname: string): boolean {
  const address = hostname.replaceAll(/[[\]]/g, '');
  return isIP(address) !== 0 && !isPublicAddress(address);
}
