import type { Knex } from 'knex';
import type { User, UserStore } from 'koa-gatehouse';

import { hashPassword, makePassword, verifyPassword } from './passwords.ts';
import type { SamplePerson } from './sample.ts';

/** The platform's users as a `UserStore`. */
export function platformUsers(database: Knex): UserStore {
  // An unknown login takes as long as a wrong password, so that the response time does not reveal which accounts exist.
  const dummyHash = hashPassword(makePassword());

  return {
    async verifyPassword(login, password) {
      const row = await database('users').where({ login: login.trim().toLowerCase() }).first();
      const matches = await verifyPassword(row?.password_hash ?? (await dummyHash), password);
      return row && matches ? toUser(row) : undefined;
    },
    async find(id) {
      const row = await database('users').where({ id }).first();
      return row && toUser(row);
    },
    async permissions(user) {
      return database('user_permissions').where({ user_id: user.id }).pluck('permission');
    },
    async roles(user) {
      return database('user_roles').where({ user_id: user.id }).pluck('role');
    },
  };
}

function toUser(row: { id: string; name: string; login: string }): User {
  return { id: row.id, name: row.name, email: row.login };
}

/** Gives every sample user a new password and adds missing users. Resolves to the passwords by login. */
export async function issuePasswords(
  database: Knex,
  people: readonly SamplePerson[],
): Promise<ReadonlyMap<string, string>> {
  const passwords = new Map(people.map(({ login }) => [login, makePassword()]));
  const hashes = new Map(
    await Promise.all(
      Array.from(passwords, async ([login, password]) => [login, await hashPassword(password)] as const),
    ),
  );
  await database.transaction(async (transaction) => {
    for (const person of people) await savePerson(transaction, person, hashes.get(person.login)!);
  });
  return passwords;
}

async function savePerson(transaction: Knex.Transaction, person: SamplePerson, hash: string): Promise<void> {
  const { login, name } = person;
  const changed = await transaction('users').where({ login }).update({ password_hash: hash });
  if (changed) return;
  const id = crypto.randomUUID();
  await transaction('users').insert({ id, login, name, password_hash: hash });
  for (const role of person.roles) await transaction('user_roles').insert({ user_id: id, role });
  for (const permission of person.permissions)
    await transaction('user_permissions').insert({ user_id: id, permission });
}
