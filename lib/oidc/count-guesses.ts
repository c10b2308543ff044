import type { KoaContextWithOIDC } from 'oidc-provider';

import { now } from '../contracts/clock.ts';
import type { ClientThrottle, Storage } from '../contracts/index.ts';
import { StorageError, TooManyAttemptsError } from '../errors.ts';
import { explainRefusedAssertion, presentsAssertion } from './client-assertion.ts';
import { clientEndpointAt } from './endpoints.ts';
import { grantOf } from './request-facts.ts';
import { requestOf } from './engine-request.ts';
import { answerTooManyAttempts } from './token-response.ts';

// For one code. A client that has the right verifier sends it in its first request.
const MAX_WRONG_VERIFIERS = 10;

/** The counters of failed attempts. */
export interface GuessCounters {
  readonly clients: ClientThrottle;
  readonly storage: Pick<Storage, 'attempts' | 'credentials'>;
}

/**
 * Counts refused requests that may have guessed a client secret, or the PKCE verifier of a code. Successful requests are not
 * counted and read nothing from the storage.
 */
export async function countGuesses(
  ctx: KoaContextWithOIDC,
  { clients, storage }: GuessCounters,
): Promise<void> {
  try {
    if (isClientRefused(ctx)) await countFailedClient(ctx, clients);
    else if (isCodeRefused(ctx)) await countWrongVerifier(ctx, storage);
  } catch (error) {
    if (error instanceof TooManyAttemptsError) return answerTooManyAttempts(ctx, error);
    // An attempt that could not be counted is answered with 503, so that it does not reveal whether the guess was right.
    if (!(error instanceof StorageError)) throw error;
    requestOf(ctx).outcome.fail(error);
  }
}

/**
 * Whether client authentication failed (RFC 6749 section 5.2). Error pages of the authorization endpoint can have that code
 * too.
 */
function isClientRefused(ctx: KoaContextWithOIDC): boolean {
  const { error } = (ctx.body ?? {}) as { error?: unknown };
  return ctx.status === 401 && error === 'invalid_client' && clientEndpointAt(ctx.path) !== undefined;
}

async function countFailedClient(ctx: KoaContextWithOIDC, clients: ClientThrottle): Promise<void> {
  // A signature cannot be guessed.
  if (presentsAssertion(ctx)) return explainRefusedAssertion(ctx);
  const { clientId = '', host } = requestOf(ctx);
  await clients.countFailure(clientId, host.ip);
}

/** Whether the client presented its own code with a wrong verifier, or with another mistake. */
function isCodeRefused(ctx: KoaContextWithOIDC): boolean {
  const code = requestOf(ctx).credential;
  const isGuess = code?.needsVerifier === true && !code.isAccepted;
  return isGuess && ctx.status === 400 && grantOf(ctx) !== undefined;
}

/** Counts a wrong verifier, and spends the code after too many of them (RFC 7636 sets no limit). */
async function countWrongVerifier(
  ctx: KoaContextWithOIDC,
  { attempts, credentials }: GuessCounters['storage'],
): Promise<void> {
  const { expiresAt, id, kind } = requestOf(ctx).credential!;
  const window = { limit: MAX_WRONG_VERIFIERS - 1, now: now(), expiresAt };
  const end = await attempts.count(`code ${id}`, window);
  if (end !== undefined) await credentials.redeem({ kind, id }, { at: Date.now() });
}
