import { setTimeout as wait } from 'node:timers/promises';

import type { AuditLog, Milliseconds, Storage, UserData, UserExport } from '../contracts/index.ts';
import { ERASED_USER } from '../contracts/user-data.ts';
import { ConfigError, GatehouseError } from '../errors.ts';
import { optional, readOptions } from '../options/declare.ts';
import { abortSignal, fn } from '../options/values.ts';

/** What `createUserData()` takes. */
export interface UserDataPorts {
  readonly audit: Pick<AuditLog, 'flush' | 'record'>;
  /** Invalidates the caches of all nodes. */
  readonly announce: () => void;
  /** The exports of features for a user. */
  readonly exports: readonly ((userId: string) => Promise<object>)[];
  readonly revoke: (target: { readonly userId: string }) => Promise<void>;
  readonly storage: Pick<Storage, 'assignments' | 'clients' | 'consents' | 'userData'>;
}

const ERASURE = { onProgress: optional(fn<(changed: number) => void>()), signal: optional(abortSignal) };

/** Creates the export of what is stored of a user, and its erasure. */
export function createUserData(ports: UserDataPorts): UserData {
  const { announce, audit, exports, revoke, storage } = ports;

  return {
    async export(userId) {
      checkId('userData.export()', userId);
      // Writes the events that this node has just recorded, so that the export has them.
      await audit.flush();
      const read = { sessions: [], grants: [], audit: [] } as {
        -readonly [K in 'sessions' | 'grants' | 'audit']: UserExport[K][number][];
      };
      await storage.userData.read(userId, (page) => {
        if (page.kind === 'sessions') read.sessions.push(...page.rows);
        else if (page.kind === 'grants') read.grants.push(...page.rows);
        else read.audit.push(...page.rows);
      });
      return {
        userId,
        assignment: await storage.assignments.find(userId),
        consents: await storage.consents.list(userId),
        ownedClients: await appsOf(userId),
        ...read,
        ...Object.assign({}, ...(await Promise.all(exports.map(async (one) => one(userId))))),
      };
    },
    async erase(userId, options = {}) {
      const { onProgress, signal } = readOptions(ERASURE, options, 'userData.erase()');
      checkId('userData.erase()', userId);
      // Revokes first: from here on, requests under way on any node store nothing of the user, except by a statement that has begun.
      await revoke({ userId });
      const endedAt = performance.now();
      await audit.flush();
      let total = 0;
      for (let round = 0; round < MOST_ROUNDS; round += 1) {
        const startedAt = performance.now();
        let changed = 0;
        await storage.userData.erase(userId, (rows) => {
          changed += rows;
          onProgress?.(total + changed);
          return !signal?.aborted;
        });
        total += changed;
        if (signal?.aborted) return total;
        if (changed === 0 && startedAt - endedAt >= SETTLED) {
          audit.record({ type: 'user_erased' });
          announce();
          return total;
        }
        // After this time, rows from the last moments before the revocation are stored and can be found.
        await wait(Math.max(endedAt + SETTLED - performance.now(), 0), undefined, { signal }).catch(() => {});
      }
      throw new GatehouseError(
        'ERR_ERASURE_INCOMPLETE',
        'The erasure is not complete: something of the user is stored again and again. Remove the user from your user table, where logins find it, and repeat the call.',
      );
    },
  };

  async function appsOf(ownerId: string): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let after: string | undefined; ; after = ids.at(-1)) {
      const page = await storage.clients.list({ ownerId, after, limit: MOST });
      ids.push(...page.map(({ id }) => id));
      if (page.length < MOST) return ids;
    }
  }
}

const MOST = 200;

// A user who was not removed from the user table may log in again in each round.
const MOST_ROUNDS = 5;

// Longer than a statement takes, and than nodes keep audit events before they write them, which is a second.
const SETTLED: Milliseconds = 2000;

function checkId(call: string, userId: unknown): void {
  if (typeof userId === 'string' && userId !== '' && userId !== ERASED_USER) return;
  throw new ConfigError(call, "pass a user's id");
}
