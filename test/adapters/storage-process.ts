// A node of a cluster: runs the requested tasks with the storages at the given addresses.
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Redemption, Storage, StoredRequest } from '../../lib/contracts/index.ts';
import {
  aCode,
  aGrant,
  aRefreshToken,
  aRequest,
  aSession,
  HOUR,
  NOW,
} from '../../lib/testing/storage/rows.ts';
import type { Answer, Begun, Request, Task } from './processes.ts';

const storages = new Map<string, Storage>();

process.on('message', (request: Request) => void handle(request));

async function handle({ number, address, task }: Request): Promise<void> {
  const storage = storages.get(address) ?? knexStorage(address);
  if (task.do === 'close') storages.delete(address);
  else storages.set(address, storage);
  const answer = await work(storage, task).then(
    (result: unknown): Answer => ({ number, result }),
    (error: unknown): Answer => ({ number, error: String(error) }),
  );
  process.send?.(answer);
}

async function work(storage: Storage, task: Task): Promise<unknown> {
  switch (task.do) {
    case 'open':
      return storage.pendingMigrations();
    case 'migrate':
      await storage.migrate();
      return storage.pendingMigrations();
    case 'redeem':
      return Promise.all(
        task.codes.map(async (code) =>
          Promise.all(
            Array.from({ length: task.times }, async (_, time) =>
              redeem(storage, code, `${task.by} ${time}`),
            ),
          ),
        ),
      );
    case 'begin': {
      const attempts = Array.from({ length: task.times }, (_, time) => `${task.by} ${time}`);
      const begun = await Promise.all(
        task.requests.flatMap((id) =>
          attempts.map(async (attempt) => begin(storage, { id, attempt }, task.now)),
        ),
      );
      return begun.flat();
    }
    case 'revoke':
      return (await Promise.all(task.grants.map(async (id) => storage.grants.revoke({ id }, NOW)))).flat();
    case 'login': {
      const begun: Begun[] = [];
      for (let time = 0; time < task.times; time += 1) {
        for (const userId of task.users) begun.push(await logIn(storage, userId, `${task.by} ${time}`));
      }
      return begun;
    }
    case 'end':
      for (const userId of task.users) await storage.revocations.revokeAllOf({ userId });
      return undefined;
    default:
      return storage.close();
  }
}

async function redeem({ grants }: Storage, code: string, by: string): Promise<Redemption> {
  return grants.redeem(
    { kind: 'code', id: code },
    {
      successor: aRefreshToken({ id: `${code} ${by}`, grantId: code, expiresAt: NOW + 100 * HOUR }),
      sealedSuccessor: by,
    },
  );
}

/** Runs all steps, even if the user is ended meanwhile. */
async function logIn(storage: Storage, userId: string, by: string): Promise<Begun> {
  const { grants, revocations, sessions } = storage;
  const sequence = await revocations.latestSequence();
  const id = `${userId} ${by}`;
  await sessions.insert(aSession({ id, uid: id, userId, sequence }));
  await grants.insert(aGrant({ id, userId, sequence }), aCode({ id, grantId: id }), { sessionId: id });
  await grants.redeem({ kind: 'code', id }, { successor: aRefreshToken({ id, grantId: id }) });
  await sessions.update(aSession({ id }));
  return { id, userId, sequence };
}

async function begin(
  { idempotency }: Storage,
  { id, attempt }: Pick<StoredRequest, 'id' | 'attempt'>,
  now: number,
): Promise<string[]> {
  const found = await idempotency.begin(aRequest({ id, attempt, leasedUntil: now + 30 }), now);
  return found ? [] : [`${id}: ${attempt}`];
}
