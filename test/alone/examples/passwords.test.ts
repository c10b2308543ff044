import { readFile } from 'node:fs/promises';

import test from '../../harness/test.ts';

import { migrateDatabase, openDatabase } from '../../../examples/server/database.ts';
import { limitConcurrency } from '../../../examples/server/limit-concurrency.ts';
import { hashPassword, makePassword, verifyPassword } from '../../../examples/server/passwords.ts';
import { issuePasswords, platformUsers } from '../../../examples/server/users.ts';
import { temporaryFile } from '../../adapters/temporary-file.ts';

test('a hash matches its password, and no other', async (t) => {
  const password = makePassword();
  const hash = await hashPassword(password);
  t.false(hash.includes(password));
  t.not(hash, await hashPassword(password));
  t.true(await verifyPassword(hash, password));
  for (const other of ['', `${password} `, password.toUpperCase(), '\0', 'x'.repeat(100_000)]) {
    t.false(await verifyPassword(hash, other));
  }
});

test('a hash of scrypt, made on a Node.js without Argon2, is verified everywhere', async (t) => {
  const hash = '$scrypt$ln=14,r=8,p=5$c2l4dGVlbiBieXRlcyEhIQ$a-MCk4wCqn6RVRs3C7Ugs6GLKouA0Bfd6kG6aQjV7wc';
  t.true(await verifyPassword(hash, 'correct horse'));
  t.false(await verifyPassword(hash, 'battery staple'));
});

test('an unknown hash algorithm is an error, not a wrong password', async (t) => {
  await t.throwsAsync(verifyPassword('$2b$10$abcdefghijklmnopqrstuv', 'x'), {
    message: /does not support the algorithm/,
  });
});

test.serial('an unknown login takes as long as a wrong password', async (t) => {
  const database = await openDatabase(`sqlite:${temporaryFile()}`);
  t.teardown(async () => database.destroy());
  await migrateDatabase(database);
  const person = { login: 'ann@school.example', name: 'Ann', roles: [], permissions: [] };
  await issuePasswords(database, [person]);
  const users = platformUsers(database);
  // The time of the processor, in microseconds: other processes may make one of them wait.
  const timeOf = async (login: string): Promise<number> => {
    const before = process.cpuUsage();
    t.is(await users.verifyPassword?.(login, 'wrong'), undefined);
    const { system, user } = process.cpuUsage(before);
    return system + user;
  };
  await timeOf('unknown@school.example');
  // The least of several, because other work of this process only adds to it.
  let [known, unknown] = [Infinity, Infinity];
  for (let round = 0; round < 7; round += 1) {
    known = Math.min(known, await timeOf(person.login));
    unknown = Math.min(unknown, await timeOf('unknown@school.example'));
  }
  t.true(unknown > known / 3 && unknown < known * 3, `${unknown} us and ${known} us`);
});

test.serial('the event loop is free while many passwords are checked', async (t) => {
  const hash = await hashPassword('correct horse');
  let checked = 0;
  const checks = Array.from({ length: 40 }, async () => {
    await verifyPassword(hash, 'wrong');
    checked += 1;
  });
  await readFile(new URL(import.meta.url));
  t.true(checked < 20, `${checked}`);
  await Promise.all(checks);
});

test('some work runs at once, the rest queues in order, and a full queue is an error', async (t) => {
  const limited = limitConcurrency({ most: 2, waiting: 3 });
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const work = ends.map(async ({ promise }, index) =>
    limited(async () => {
      begun.push(index);
      await promise;
    }),
  );
  await t.throwsAsync(
    limited(async () => {}),
    { code: 'ERR_STORAGE' },
  );
  t.deepEqual(begun, [0, 1]);
  ends[1]!.reject(new Error('failed'));
  await t.throwsAsync(work[1]!, { message: 'failed' });
  t.deepEqual(begun, [0, 1, 2]);
  for (const { resolve } of ends) resolve();
  await Promise.all(work.toSpliced(1, 1));
  t.deepEqual(begun, [0, 1, 2, 3, 4]);
  await limited(async () => {});
});
