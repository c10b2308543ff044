/**
 * A node with `laravelPassport()` in a process of its own. Its arguments are the database, the issuer, the database of the Laravel app
 * and the number of its users, whose ids are 1, 2, 3 and so on. Prints where it listens, and ends with its input.
 */
import { laravelPassport, laravelPassportSource } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { startPlatform } from '../../test/harness/platform.ts';
import type { Person } from '../../test/harness/platform.ts';
import { APP_KEY, vectors } from '../../test/laravel-passport/laravel.ts';
import { scopes } from '../../test/laravel-passport/moved-platform.ts';

const [database = '', issuer = '', laravel = '', users = ''] = process.argv.slice(2);

const EMAIL = /^(\d+)@school\.example$/;

function person(id: string): Person | undefined {
  if (!/^[1-9]\d*$/.test(id) || Number(id) > Number(users)) return undefined;
  const email = `${id}@school.example`;
  return {
    id,
    name: `User ${id}`,
    email,
    password: 'password',
    permissions: ['view_schools', 'edit_schools'],
  };
}

const platform = await startPlatform({
  storage: knexStorage(database),
  issuer,
  scopes,
  users: {
    verifyPassword: async (login, password) => {
      const user = person(EMAIL.exec(login)?.[1] ?? '');
      return user?.password === password ? user : undefined;
    },
    find: async (id) => person(id),
    permissions: async (user) => user.permissions,
  },
  tokens: { revocationLag: 2 },
  features: [
    laravelPassport({
      publicKey: vectors.rsa_public_key_pem,
      appKey: APP_KEY,
      source: laravelPassportSource(laravel),
      until: '2119-12-31',
    }),
  ],
});
console.log(platform.origin);
process.stdin.resume().once('end', () => process.exit());
