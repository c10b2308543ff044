import { now } from '../contracts/clock.ts';
import type { Client, ClientSecret } from '../contracts/index.ts';
import { matchesHash } from '../keys/hash.ts';
import { invalidMetadata } from './registration-metadata.ts';
import type { RequestedRegistration } from './registration-metadata.ts';

/** The scopes that apps that register themselves may have. */
export interface ScopePolicy {
  readonly scopes: readonly string[];
  /** Of an app that names none. */
  readonly defaultScopes: readonly string[];
}

/** The scopes that a new app gets: those that the policy permits of the ones that it names. */
export function scopesFor(
  asked: readonly string[] | undefined,
  { defaultScopes, scopes }: ScopePolicy,
): readonly string[] {
  if (asked === undefined || asked.length === 0) return defaultScopes;
  return permitted(asked, scopes);
}

/**
 * The scopes of an app after a change. It keeps or loses scopes and never gains one, so that it cannot undo what an administrator
 * has taken away.
 */
export function narrowed(
  { scopes }: Client,
  { scopes: asked }: RequestedRegistration,
  policy: Pick<ScopePolicy, 'scopes'>,
): Client['scopes'] {
  if (asked === undefined || asked.length === 0) return scopes;
  return permitted(
    asked,
    policy.scopes.filter((scope) => scopes?.includes(scope) ?? true),
  );
}

function permitted(asked: readonly string[], allowed: readonly string[]): readonly string[] {
  const scopes = allowed.filter((scope) => asked.includes(scope));
  if (scopes.length > 0) return scopes;
  throw invalidMetadata('scope: an app that registers itself cannot have any of these scopes');
}

// RFC 7592 section 2.2.
const NOT_SENT = [
  'registration_access_token',
  'registration_client_uri',
  'client_secret_expires_at',
  'client_id_issued_at',
];

/**
 * Checks what RFC 7592 section 2.2 requires of a change besides the metadata.
 *
 * @returns the secret that the client has sent, if any
 */
export function checkManagement(
  sent: Readonly<Record<string, unknown>>,
  { id }: Client,
  secrets: readonly ClientSecret[],
): string | undefined {
  if (sent['client_id'] !== id) throw invalidMetadata('client_id: send that of the app');
  const wrong = NOT_SENT.find((member) => sent[member] !== undefined);
  if (wrong !== undefined) throw invalidMetadata(`${wrong}: cannot be changed; leave it out`);
  const secret = sent['client_secret'] ?? undefined;
  if (secret === undefined) return undefined;
  const isCurrent =
    typeof secret === 'string' &&
    secrets.some(({ expiresAt = Infinity, hash }) => expiresAt > now() && matchesHash(secret, hash));
  if (isCurrent) return secret;
  throw invalidMetadata('client_secret: this is not the secret of the app; leave it out');
}
