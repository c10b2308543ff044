import { isIP } from 'node:net';

import { isLoopback } from '../../contracts/loopback.ts';
import type { Client, ClientKeys } from '../../contracts/index.ts';
import { ClientSourceError } from '../../errors.ts';
import { checkClientFields, isStrings } from '../../clients/fields.ts';
import { PRIVATE_MEMBERS } from '../../clients/public-keys.ts';
import { isOnDevice } from '../../clients/redirect-uris.ts';
import { inMetadata, lacking } from './metadata.ts';
import type { ClientMetadataDocument } from './types.ts';

/*
 * The rules for the document of a client whose id is the URL of that document (draft-ietf-oauth-client-id-metadata-document), and
 * for the URL.
 */

/** The fields of a client that its document decides. */
export type DocumentFields = Pick<Client, 'name' | 'redirectUris' | 'confidential' | 'keys' | 'native'>;

/** The URLs that decide whether the URL of a document is accepted. */
export interface DocumentUrlPolicy {
  /** The issuer's URL. */
  readonly own: Pick<URL, 'host' | 'hostname'>;
  /** Whether documents at http URLs on loopback are accepted. */
  readonly loopback: boolean;
}

/** Whether a `client_id` is meant as the URL of a document. */
export function isDocumentUrl(id: string, { loopback }: Pick<DocumentUrlPolicy, 'loopback'>): boolean {
  return id.startsWith('https://') || (loopback && id.startsWith('http://'));
}

// The length of the columns for ids.
export const LONGEST_ID = 255;

/**
 * Checks a `client_id` before anything is fetched. The URL has to be in its normal form, so that one document has one id: no
 * credentials, no dot segments, no default port, no upper case in the host.
 *
 * @param policy - documents that users could upload to the issuer's own host would look like the platform's own app
 * @throws ClientSourceError with the mistake
 */
export function checkDocumentUrl(id: string, policy: DocumentUrlPolicy): void {
  const mistake = urlMistake(id, policy);
  if (mistake !== undefined) throw new ClientSourceError('invalid', `the client_id ${mistake}`);
}

function urlMistake(id: string, { own }: DocumentUrlPolicy): string | undefined {
  if (id.length > LONGEST_ID) return `is longer than ${LONGEST_ID} characters`;
  const url = URL.parse(id);
  if (url?.href !== id) return 'is not an https URL in its normal form (RFC 3986 section 6.2)';
  if (url.username !== '' || url.password !== '') return 'contains credentials';
  if (id.includes('#')) return 'contains a fragment';
  if (url.pathname === '/') return 'has no path';
  if (url.protocol === 'http:') {
    if (!isLoopback(url.hostname)) return 'is neither an https URL nor on loopback';
    return url.host === own.host ? 'is a URL of this server' : undefined;
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 || host.endsWith('.')) return 'has no host name that users could recognize';
  return host === own.hostname ? 'is a URL of this server' : undefined;
}

/**
 * Checks a document.
 *
 * @param options.privateKeyJwt - whether the server offers the authentication method `private_key_jwt`
 * @throws ClientSourceError with all mistakes
 */
export function readDocument(
  id: string,
  document: unknown,
  { privateKeyJwt }: { readonly privateKeyJwt: boolean },
): DocumentFields {
  const mistakes: string[] = [];
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw invalid(['it is not a JSON object']);
  }
  const given = document as Readonly<Record<string, unknown>>;
  const { client_id: ownId, client_name: name, redirect_uris: redirectUris } = given;
  if (ownId !== id) mistakes.push('client_id: must be the URL of the document');
  if (typeof name !== 'string') mistakes.push('client_name: give a name');
  if (!isStrings(redirectUris)) mistakes.push('redirect_uris: give an array of strings');
  for (const member of ['client_secret', 'client_secret_expires_at'])
    if (member in given) mistakes.push(`${member}: a document that anybody can read contains no secret`);
  if (hasPrivateKey(given['jwks'])) mistakes.push('jwks: contains a key that is not public');
  const method = given['token_endpoint_auth_method'] ?? 'none';
  if (method !== 'none' && !(method === 'private_key_jwt' && privateKeyJwt)) {
    mistakes.push(`token_endpoint_auth_method: use none${privateKeyJwt ? ' or private_key_jwt' : ''}`);
  }
  for (const { member, value } of lacking(given))
    mistakes.push(`${member}: must contain ${value}, or be left out`);
  if (mistakes.length > 0 || typeof name !== 'string' || !isStrings(redirectUris)) throw invalid(mistakes);
  const confidential = method === 'private_key_jwt';
  return toFields({ name, redirectUris, confidential, keys: confidential ? keysIn(given) : undefined });
}

/** The keys of a document. `checkClientFields` checks that the document has exactly one of the two members. */
function keysIn({ jwks, jwks_uri: jwksUri }: Readonly<Record<string, unknown>>): ClientKeys {
  return {
    ...(jwks === undefined ? {} : { jwks }),
    ...(jwksUri === undefined ? {} : { jwksUri }),
  } as ClientKeys;
}

function toFields({
  confidential,
  keys,
  name,
  redirectUris,
}: Pick<DocumentFields, 'confidential' | 'keys' | 'name' | 'redirectUris'>): DocumentFields {
  // The client type decides here whether the port of a loopback redirect URI is free (RFC 8252 section 7.3).
  const native = redirectUris.some((uri) => isOnDevice(uri) && !uri.startsWith('https:'));
  const given = { name, grantType: 'authorization_code', redirectUris, confidential, native, keys } as const;
  const { checked, mistakes } = checkClientFields(given, {});
  if (mistakes) throw invalid(mistakes.map((mistake) => inMetadata(mistake)));
  return { name: checked.name, redirectUris: checked.redirectUris, confidential, keys: checked.keys, native };
}

function hasPrivateKey(jwks: unknown): boolean {
  const keys: unknown = (jwks as { keys?: unknown } | undefined)?.keys;
  return (
    Array.isArray(keys) &&
    keys.some((key: unknown) =>
      PRIVATE_MEMBERS.some((member) => Object.hasOwn(Object(key) as object, member)),
    )
  );
}

// The number of mistakes in a message, which is kept for some time.
const MOST_MISTAKES = 5;

export function invalid(mistakes: readonly string[]): ClientSourceError {
  const named = mistakes.slice(0, MOST_MISTAKES).join('; ');
  return new ClientSourceError('invalid', `the metadata document is not valid: ${named}`);
}

/** The members of a client's document that this server uses, for the policy of the host. */
export function toDocument(client: Pick<Client, 'id'> & DocumentFields): ClientMetadataDocument {
  const { keys } = client;
  return {
    client_id: client.id,
    client_name: client.name,
    redirect_uris: client.redirectUris,
    token_endpoint_auth_method: keys ? 'private_key_jwt' : 'none',
    ...(keys && ('jwks' in keys ? { jwks: keys.jwks } : { jwks_uri: keys.jwksUri })),
  };
}
