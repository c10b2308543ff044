import type { KoaContextWithOIDC } from 'oidc-provider';

import { now } from '../contracts/clock.ts';
import type { ClientThrottle, Storage } from '../contracts/index.ts';
import { StorageError, TooManyAttemptsError } from '../errors.ts';
import { directEndpoint } from './endpoints.ts';
import { grantOf } from './request-facts.ts';
import { requestOf } from './engine-request.ts';
import { sayTooManyAttempts } from './token-response.ts';

// For one code. Whoever has the right verifier has it the first time.
const MOST_WRONG_VERIFIERS = 10;

/** Where guesses are counted. */
export interface GuessCounters {
  readonly clients: ClientThrottle;
  readonly storage: Pick<Storage, 'attempts' | 'credentials'>;
}

/**
 * Counts what the engine has refused and what may have been a guess: at a client's secret, or at the verifier of a code.
 * A request that gets what it asks for costs nothing here.
 */
export async function countGuesses(
  ctx: KoaContextWithOIDC,
  { clients, storage }: GuessCounters,
): Promise<void> {
  try {
    if (isClientRefused(ctx)) await countFailedClient(ctx, clients);
    else if (isCodeRefused(ctx)) await countWrongVerifier(ctx, storage);
  } catch (error) {
    if (error instanceof TooManyAttemptsError) return sayTooManyAttempts(ctx, error);
    // What could not be counted gets no answer that tells whether it was right.
    if (!(error instanceof StorageError)) throw error;
    requestOf(ctx).outcome.fail(error);
  }
}

/** Failed to authenticate (RFC 6749 section 5.2). A page at the authorization endpoint can have the same code. */
function isClientRefused(ctx: KoaContextWithOIDC): boolean {
  const { error } = (ctx.body ?? {}) as { error?: unknown };
  return ctx.status === 401 && error === 'invalid_client' && directEndpoint(ctx.path) !== undefined;
}

async function countFailedClient(ctx: KoaContextWithOIDC, clients: ClientThrottle): Promise<void> {
  const { clientId = '', host } = requestOf(ctx);
  await clients.countFailure(clientId, host.ip);
}

/** The client's own code, with a verifier that does not belong to it, or another mistake. */
function isCodeRefused(ctx: KoaContextWithOIDC): boolean {
  const code = requestOf(ctx).credential;
  const isGuess = code?.needsVerifier === true && !code.isAccepted;
  return isGuess && ctx.status === 400 && grantOf(ctx) !== undefined;
}

/** Spends the code after too many (RFC 7636 leaves open how often a verifier may be wrong). */
async function countWrongVerifier(
  ctx: KoaContextWithOIDC,
  { attempts, credentials }: GuessCounters['storage'],
): Promise<void> {
  const { expiresAt, id, kind } = requestOf(ctx).credential!;
  const window = { limit: MOST_WRONG_VERIFIERS - 1, now: now(), expiresAt };
  const end = await attempts.count(`code ${id}`, window);
  if (end !== undefined) await credentials.redeem({ kind, id }, { at: Date.now() });
}
