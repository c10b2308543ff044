import { now } from '../clock.ts';
import type { ClientSecret, ClientStore, Logger, StoredClient } from '../contracts.ts';
import { findBcryptSecret, isBcryptHash, isWholeToBcrypt } from './bcrypt-secret.ts';
import { hashCredential, matchesHash } from './hash.ts';
import { isGenerated } from './new-secret.ts';
import { createSlowChecks } from './slow-checks.ts';

// A use is noted once a minute at most: "last used" needs no more, and a write per token would cost more than the token.
const TOUCH_INTERVAL = 60;
const MOST_ENTRIES = 10_000;

/** Clients as the hot paths need them: kept in memory for a while, forgotten at once when changed on this node. */
export interface ClientDirectory {
  find(id: string): Promise<StoredClient | undefined>;
  /**
   * Whether a presented secret is one of the client's live ones.
   *
   * @param admit - throws when too many guesses have failed. Called before each comparison with what can be guessed
   * @throws TooManyAttemptsError also when too many values of the client wait for a slow check
   */
  verifySecret(id: string, presented: string, admit: () => void): Promise<boolean>;
  forget(id: string): void;
}

/** @param maxAge - in seconds: how old a remembered client may be, so that a change on another node is seen */
export function createClientDirectory(
  store: Pick<ClientStore, 'find' | 'rehashSecret' | 'touchSecret'>,
  { maxAge, logger }: { maxAge: number; logger: Logger },
): ClientDirectory {
  const entries = new Map<string, { stored: Promise<StoredClient | undefined>; loadedAt: number }>();
  const notedAt = new Map<string, number>();
  const runSlowCheck = createSlowChecks<ClientSecret>();

  async function find(id: string): Promise<StoredClient | undefined> {
    const entry = entries.get(id);
    if (entry && now() - entry.loadedAt < maxAge) return entry.stored;
    const stored = store.find(id);
    const [oldest] = entries.keys();
    if (entries.size >= MOST_ENTRIES && oldest !== undefined) entries.delete(oldest);
    entries.set(id, { stored, loadedAt: now() });
    try {
      const found = await stored;
      // Ids that strangers make up must not fill the memory.
      if (!found) forget(id, stored);
      return found;
    } catch (error) {
      forget(id, stored);
      throw error;
    }
  }

  function forget(id: string, stored?: Promise<StoredClient | undefined>): void {
    if (stored === undefined || entries.get(id)?.stored === stored) entries.delete(id);
  }

  async function findLive(id: string): Promise<readonly ClientSecret[]> {
    return (await find(id))?.secrets.filter(isLive) ?? [];
  }

  async function findSecret(
    id: string,
    presented: string,
    admit: () => void,
  ): Promise<ClientSecret | undefined> {
    // Nobody can guess one of ours, and who has it gets in, however often strangers have failed in the client's name.
    const isOfOurForm = isGenerated(presented);
    if (!isOfOurForm) admit();
    const live = await findLive(id);
    const match = live.find(({ hash }) => matchesHash(presented, hash));
    if (match) return match;
    // Nor is anybody kept waiting by those that are made up: no value of this form was ever imported.
    if (isOfOurForm || !isWholeToBcrypt(presented)) return undefined;
    const imported = live.filter(({ hash }) => isBcryptHash(hash));
    if (imported.length === 0) return undefined;
    return runSlowCheck(id, presented, async () => {
      const found = await findBcryptSecret(presented, imported);
      return found && rehash(id, found, presented);
    });
  }

  /** Makes an imported secret one of ours, so that the slow check is made once. */
  async function rehash(
    id: string,
    secret: ClientSecret,
    presented: string,
  ): Promise<ClientSecret | undefined> {
    const to = hashCredential(presented);
    const isReplaced = await store.rehashSecret(id, secret.id, { from: secret.hash, to });
    forget(id);
    if (isReplaced) return secret;
    // Another request was first, or somebody has removed it while this one waited.
    return (await findLive(id)).find(({ hash }) => matchesHash(presented, hash));
  }

  async function verifySecret(id: string, presented: string, admit: () => void): Promise<boolean> {
    const match = await findSecret(id, presented, admit);
    if (match) noteUse(id, match);
    return match !== undefined;
  }

  function noteUse(id: string, secret: ClientSecret): void {
    const at = now();
    if (at - (notedAt.get(secret.id) ?? secret.lastUsedAt ?? 0) < TOUCH_INTERVAL) return;
    notedAt.set(secret.id, at);
    store.touchSecret(id, secret.id, at).catch((error: unknown) => {
      logger.warn({ err: error, client_id: id }, 'the last use of a client secret was not noted');
    });
  }

  return { find, verifySecret, forget: (id) => forget(id) };
}

function isLive(secret: ClientSecret): boolean {
  return secret.expiresAt === undefined || secret.expiresAt > now();
}
