import { now } from '../../contracts/clock.ts';
import type { End, EndKind, Milliseconds, Seconds, Storage } from '../../contracts/index.ts';
import { logFailure } from '../../http/unavailable.ts';
import { createEndReader } from '../../outbox/end-reader.ts';
import { runOnEnds } from '../../outbox/run-on-ends.ts';
import type { CoreBase } from '../core.ts';
import { accessTokenOf, ID, disconnectionId, READER } from './identifiers.ts';
import type { PassportSettings } from './options.ts';
import type { PassportStore } from './types.ts';

// The pause after a failure. It is shorter than the time after which the reader takes a failed end again, so that later ends come first
// and are not held up.
const PAUSE: Seconds = 5;

// How long a closing server waits. Other nodes, or the next start, revoke what it has not revoked by then.
const LAST: Milliseconds = 2000;

const KINDS: readonly EndKind[] = ['token', 'grant', 'user', 'client', 'admission'];

interface Source {
  /** Whether the tables of Passport may be changed. */
  readonly isWritable: boolean;
  readonly settings: Pick<PassportSettings, 'source' | 'until'>;
  readonly store: Pick<PassportStore, 'mark'>;
}

/**
 * Revokes in Passport's tables what has ended here: at once when this node has ended it, and again until the database has accepted it.
 *
 * Ends of disconnections are stored until no token of Passport is accepted any more, whether or not a server with this feature runs:
 * nothing else shows that an unused token of the app must not bring the consent back. Ends of tokens, grants, users and clients are also
 * stored in tables of this server; if no server with the feature runs for days, only the Laravel app misses them.
 */
export function createSourceRevoker(
  { options: { logger }, storage }: Pick<CoreBase, 'options' | 'storage'>,
  target: Source,
): {
  /** Call it before the server takes requests. */
  register(this: void): Promise<void>;
  /** Runs until it is stopped, and resolves then. */
  run(this: void, stop: AbortSignal): Promise<void>;
} {
  const { ends } = storage;
  const { isWritable, settings } = target;
  const reader = createEndReader(ends, {
    name: READER,
    kinds: isWritable ? KINDS : [],
    async handle(taken) {
      for (const [index, end] of taken.entries()) {
        try {
          await revokeAtSource(storage, target, end);
        } catch (error) {
          // The reader releases the failed end itself, for later.
          await ends.release(taken.slice(index + 1), now());
          throw error;
        }
        await ends.done([end]);
      }
    },
  });
  let isTriggered = false;
  let isLate = false;
  let notBefore = 0;
  let revoking: Promise<void> | undefined;

  /** Never rejects. */
  async function revokeAll(): Promise<void> {
    while (isTriggered && now() >= notBefore) {
      isTriggered = false;
      try {
        await reader.read();
      } catch (error) {
        notBefore = now() + PAUSE;
        if (!isLate)
          logFailure(
            logger,
            { err: error },
            'what has ended was not revoked in the tables of Passport',
            'warn',
          );
      }
    }
  }

  function trigger(): void {
    isTriggered = true;
    revoking ??= revokeAll().finally(() => (revoking = undefined));
  }

  /** Waits for the last revocations, but not for a Laravel database that hangs: the server has to close. */
  async function stop(): Promise<void> {
    const tooLate = Promise.withResolvers<void>();
    const timer = setTimeout(tooLate.resolve, LAST);
    trigger();
    await Promise.race([revoking, tooLate.promise]);
    clearTimeout(timer);
    isLate = true;
  }

  return {
    async register() {
      if (settings.until > now()) await ends.read(READER, ['connection'], settings.until);
      await reader.register();
    },
    run: async (signal) =>
      runOnEnds(ends, { stop, trigger }, signal, (kind) => kind !== 'session' && kind !== 'all'),
  };
}

/** Revokes at Passport what one end has ended. It may be called again for the same end. */
async function revokeAtSource(
  { clients }: Pick<Storage, 'clients'>,
  { isWritable, settings: { source }, store }: Source,
  { clientId, kind, userId, value }: End,
): Promise<void> {
  if (kind === 'connection') {
    // For tokens whose rows at Passport do not name their user, and for sources that cannot be written.
    await store.mark(disconnectionId(userId!, clientId!), Number.MAX_SAFE_INTEGER);
    if (isWritable) await source.revoke({ userId: userId!, clientId: clientId! });
    return;
  }
  if (!isWritable) return;
  if (kind === 'user') await source.revoke({ userId: value });
  if (kind === 'client') await source.revoke({ clientId: value });
  const accessTokenId = kind === 'token' ? value : kind === 'grant' ? accessTokenOf(value) : undefined;
  if (accessTokenId !== undefined && ID.test(accessTokenId)) await source.revoke({ accessTokenId });
  if (kind !== 'client' && kind !== 'admission') return;
  const stored = await clients.find(value);
  // An end of admission ends the tokens of a client, which itself may go on.
  if (kind === 'admission' || !stored) await source.setClientRevoked(value, stored?.client.disabled ?? true);
}
