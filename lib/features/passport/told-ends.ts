import { now } from '../../contracts/clock.ts';
import type { End, EndKind, Milliseconds, Seconds, Storage } from '../../contracts/index.ts';
import { logFailure } from '../../http/unavailable.ts';
import { createEndReader } from '../../outbox/end-reader.ts';
import { runOnEnds } from '../../outbox/run-on-ends.ts';
import type { CoreBase } from '../core.ts';
import { accessTokenOf, ID, disconnectionId, READER } from './identifiers.ts';
import type { PassportSettings } from './options.ts';
import type { PassportStore } from './types.ts';

// After a failure. Shorter than an end is left that could not be told of: the others come first, and none holds them up.
const PAUSE: Seconds = 5;

// Of the last requests, when the server closes: what is not told by then is left to other nodes, or to the next start.
const LAST: Milliseconds = 2000;

const KINDS: readonly EndKind[] = ['token', 'grant', 'user', 'client', 'admission'];

interface Told {
  /** Whether the tables of Passport may be changed. */
  readonly isWritable: boolean;
  readonly settings: Pick<PassportSettings, 'source' | 'until'>;
  readonly store: Pick<PassportStore, 'mark'>;
}

/**
 * Makes what tells Passport's tables what has ended here: at once of what this node ends, and again until it is done. Here all of it has
 * ended already.
 *
 * Until no token of Passport is accepted any more, a disconnection is stored whatever servers run: only its end says that a token of the
 * app must not bring the consent back. That of a token, a grant, a user or a client is stored besides, so that only the Laravel app misses
 * what ends while no server with the feature runs for days.
 */
export function createTeller(
  { options: { logger }, storage }: Pick<CoreBase, 'options' | 'storage'>,
  told: Told,
): {
  /** Call it before the server takes requests. */
  register(this: void): Promise<void>;
  /** Resolves when it has stopped. */
  run(this: void, stop: AbortSignal): Promise<void>;
} {
  const { ends } = storage;
  const { isWritable, settings } = told;
  const reader = createEndReader(ends, {
    name: READER,
    kinds: isWritable ? KINDS : [],
    async handle(taken) {
      for (const [index, end] of taken.entries()) {
        try {
          await tell(storage, told, end);
        } catch (error) {
          // What could not be told of is given back by the reader, for later.
          await ends.release(taken.slice(index + 1), now());
          throw error;
        }
        await ends.done([end]);
      }
    },
  });
  let isWoken = false;
  let isLate = false;
  let notBefore = 0;
  let telling: Promise<void> | undefined;

  /** Never rejects. */
  async function tellAll(): Promise<void> {
    while (isWoken && now() >= notBefore) {
      isWoken = false;
      try {
        await reader.read();
      } catch (error) {
        notBefore = now() + PAUSE;
        if (!isLate)
          logFailure(
            logger,
            { err: error },
            'the tables of Passport were not told of what has ended',
            'warn',
          );
      }
    }
  }

  function wake(): void {
    isWoken = true;
    telling ??= tellAll().finally(() => (telling = undefined));
  }

  /** A Laravel database that hangs keeps no server from closing. */
  async function stop(): Promise<void> {
    const tooLate = Promise.withResolvers<void>();
    const timer = setTimeout(tooLate.resolve, LAST);
    wake();
    await Promise.race([telling, tooLate.promise]);
    clearTimeout(timer);
    isLate = true;
  }

  return {
    async register() {
      if (settings.until > now()) await ends.read(READER, ['connection'], settings.until);
      await reader.register();
    },
    run: async (signal) =>
      runOnEnds(ends, { stop, wake }, signal, (kind) => kind !== 'session' && kind !== 'all'),
  };
}

/** Tells of one end. It may be told of again. */
async function tell(
  { clients }: Pick<Storage, 'clients'>,
  { isWritable, settings: { source }, store }: Told,
  { clientId, kind, userId, value }: End,
): Promise<void> {
  if (kind === 'connection') {
    // For tokens whose rows at Passport do not say whose they are, and where these cannot be marked.
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
  // The tokens of a client may have ended, and the client go on.
  if (kind === 'admission' || !stored) await source.setClientRevoked(value, stored?.client.disabled ?? true);
}
