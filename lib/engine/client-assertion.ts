import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { JWTPayload } from 'jose';
import { errors } from 'oidc-provider';
import type { Configuration, Provider } from 'oidc-provider';

import { ASSERTION_ALGORITHMS } from '../clients/public-keys.ts';
import type { KeySet, RemoteKeys } from '../clients/remote-keys.ts';
import { now } from '../contracts/clock.ts';
import type { Client, ClientStore, Seconds } from '../contracts/index.ts';
import { hashCredential } from '../keys/hash.ts';
import { replaceReplayDetection } from './calls-without-context.ts';
import { disabledClientId } from './outcome.ts';
import type { EngineRequest, PresentedAssertion } from './request.ts';

/*
 * Client assertions: JWTs that a client signs with its private key, instead of sending a secret (`private_key_jwt`, RFC 7523
 * section 2.2). The engine verifies them; the following is what it leaves open.
 */

// How far ahead the expiry of an assertion may be. It bounds how long one that was intercepted and not used can be used,
// and how many used ones are stored. Libraries make assertions for a minute to an hour.
export const LONGEST_LIFETIME: Seconds = 3600;

// For clients whose clock differs: the engine's default for the same purpose.
export const CLOCK_TOLERANCE: Seconds = 15;

// How much longer a used assertion is stored than it is valid, because the clocks of nodes differ.
const NODE_TOLERANCE: Seconds = 300;

/** The engine's configuration for client assertions. */
export const ASSERTION_CONFIGURATION: Configuration = {
  clockTolerance: CLOCK_TOLERANCE,
  enabledJWA: { clientAuthSigningAlgValues: [...ASSERTION_ALGORITHMS] },
  // Called with an assertion whose signature was verified.
  async assertJwtClientAuthClaimsAndHeader(ctx, claims) {
    const mistake = claimMistake(claims, ctx.oidc.clientJwtAuthExpectedAudience());
    if (mistake !== undefined) throw new errors.InvalidClientAuth(mistake);
  },
};

/**
 * Makes each assertion usable once on all nodes. The engine would look for a used one and then store it, so that two requests at
 * once would both be accepted.
 */
export function refuseReplays(provider: Provider, clients: Pick<ClientStore, 'redeemAssertion'>): void {
  replaceReplayDetection(provider, async (request, { clientId, expiresAt, id }) => {
    const until = Math.ceil(expiresAt) + NODE_TOLERANCE;
    const hash = hashCredential(JSON.stringify([clientId, id]));
    const isFirst = await clients.redeemAssertion(hash, until);
    if (!isFirst && request?.assertion) request.assertion = { ...request.assertion, isReplayed: true };
    return isFirst;
  });
}

/**
 * The assertion that a request presents for a client, with the keys to verify it by. `undefined`: it presents none.
 *
 * Called when the engine looks for the client, because only then are keys fetched: for a client that exists, has an URL of keys,
 * and is named by an assertion.
 *
 * The keys are handed to the engine only where one of them is meant: it would verify the signature with each of several.
 *
 * @throws TooManyAttemptsError when too many requests wait for keys
 */
export async function presentedAssertion(
  request: EngineRequest,
  { keys }: Pick<Client, 'keys'>,
  remoteKeys: RemoteKeys,
): Promise<PresentedAssertion | undefined> {
  const value = assertionIn(request);
  if (value === undefined) return undefined;
  if (!keys) return refused('the client has no keys');
  const keyId = keyIdOf(value);
  const found = 'jwks' in keys ? keys.jwks : await remoteKeys.find(keys.jwksUri, keyId, request.host.ip);
  if (!('keys' in found)) return refused(`the keys of the client could not be fetched: ${found.problem}`);
  const problem = keyMistake(found, keyId);
  return problem === undefined ? { keys: found, problem, isReplayed: false } : refused(problem);
}

function refused(problem: string): PresentedAssertion {
  return { keys: undefined, problem, isReplayed: false };
}

/** Why an assertion means none of the keys (RFC 7515 section 4.1.4); `undefined`: it means one of them. */
function keyMistake({ keys }: KeySet, keyId: string | undefined): string | undefined {
  if (keyId === undefined)
    return keys.length > 1 ? 'the client has several keys, and the client assertion has no kid' : undefined;
  if (keys.some(({ kid }) => kid === keyId)) return undefined;
  return 'the client has no key with the kid of the client assertion';
}

/** The refusal of an assertion: what its sender is told, and the reason for the log and the audit record. */
export interface AssertionRefusal {
  readonly description: string;
  readonly reason: string;
}

/**
 * Why a request was refused that presents an assertion; `undefined`: it presents none.
 *
 * The description depends on the assertion and the id of the client alone until its signature was verified: it is the same for a client
 * that does not exist.
 */
export function assertionRefusal(request: EngineRequest): AssertionRefusal | undefined {
  const value = assertionIn(request);
  if (value === undefined) return undefined;
  const { assertion, client, clientId = '' } = request;
  // Nobody registers such a client: it is stored when a user authorizes it.
  const hint = clientId.startsWith('https://') ? `; ${AUTHORIZED_FIRST}` : '';
  const description = UNVERIFIED + hint;
  if (assertion?.isReplayed) return alike(REPLAYED);
  const mistake = mistakeIn(value, request.oidc!.clientJwtAuthExpectedAudience());
  if (mistake !== undefined) return alike(mistake);
  if (disabledClientId(request) !== undefined) return { description, reason: 'the app is disabled' };
  if (!client) return { description, reason: `client not found${hint}` };
  const reason =
    assertion?.problem ?? 'the signature of the client assertion does not belong to a key of the client';
  return { description, reason };
}

const REPLAYED = 'the client assertion was used before; make a new one, with a new jti, for each request';

const UNVERIFIED =
  'no key of the client verifies the client assertion; check the client_id (iss and sub), the key id (kid) and the registered keys';

const AUTHORIZED_FIRST = 'an app whose id is a URL is known here once a user has authorized it';

function alike(text: string): AssertionRefusal {
  return { description: text, reason: text };
}

function assertionIn(request: EngineRequest): string | undefined {
  const value = request.oidc?.params?.['client_assertion'];
  return typeof value === 'string' ? value : undefined;
}

function keyIdOf(assertion: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(assertion);
    return typeof kid === 'string' ? kid : undefined;
  } catch {
    return undefined;
  }
}

/** The mistake in an assertion that needs no key to see. */
function mistakeIn(assertion: string, audiences: ReadonlySet<string>): string | undefined {
  try {
    const { alg } = decodeProtectedHeader(assertion);
    if (!ASSERTION_ALGORITHMS.some((one) => one === alg))
      return `sign the client assertion with one of ${ASSERTION_ALGORITHMS.join(', ')}`;
    return claimMistake(decodeJwt(assertion), audiences);
  } catch {
    return 'the client assertion is not a JWT';
  }
}

function claimMistake(
  { aud, exp, iss, jti, nbf, sub }: JWTPayload,
  audiences: ReadonlySet<string>,
): string | undefined {
  if (typeof iss !== 'string' || iss !== sub)
    return 'the iss and the sub of the client assertion are the client_id';
  if (typeof jti !== 'string' || jti === '')
    return 'the client assertion has a jti, a new one for each request';
  if (typeof exp !== 'number') return 'the client assertion has an exp, a time within the next hour';
  if (exp <= now() - CLOCK_TOLERANCE)
    return 'the client assertion has expired (exp); make a new one for each request, and check the clock of the client';
  if (exp > now() + CLOCK_TOLERANCE + LONGEST_LIFETIME)
    return 'the client assertion expires too late; its exp is at most an hour ahead';
  if (nbf !== undefined && nbf > now() + CLOCK_TOLERANCE)
    return 'the client assertion is not valid yet (nbf); check the clock of the client';
  // With another server among them, that server could use the assertion here.
  const named = [aud].flat();
  const isForThisServer = named.length > 0 && named.every((one) => audiences.has(one ?? ''));
  return isForThisServer ? undefined : `the aud of the client assertion is ${[...audiences][0]}`;
}
