import { createApiRouter, createAuthServer, defineGate } from 'koa-gatehouse';
import type { AuthServer, AuthServerOptions, Duration, User, UserStore } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

const gate = defineGate({
  permissions: { view_schools: 'View schools' },
  roles: { registrar: ['view_schools'] },
});
declare const users: UserStore;
const needed = {
  issuer: 'https://platform.example',
  users,
  storage: memoryStorage(),
  interactions: pages(),
  gate,
};

await createAuthServer(needed);
await createAuthServer({
  ...needed,
  storage: knexStorage('sqlite:./gatehouse.db'),
  interactions: pages({ brand: { name: 'Acme' } }),
  login: { currentUser: (ctx) => ctx.state['user'] as User | undefined },
  tokens: {
    lifetimes: { preset: 'short', accessToken: '15 minutes', refreshToken: 3600 },
    algorithm: 'EdDSA',
    revocationLag: '1 second',
  },
  secrets: { keyEncryptionKey: ['new', 'old'] },
});

await createAuthServer({ ...needed, secrets: { keyEncryptionKey: false } });

// Required options.
// @ts-expect-error no issuer
await createAuthServer({ users, storage: memoryStorage(), interactions: pages(), gate });

// Issuer, users and storage are enough; without a gate there are no permissions.
const least = await createAuthServer({ issuer: '', users, storage: memoryStorage() });
least satisfies AuthServer;
createApiRouter({ auth: least });
// @ts-expect-error there is no such permission
least.requires('view_schools');

// Unknown options, lifetimes, presets, units and algorithms.
// @ts-expect-error issuers
await createAuthServer({ ...needed, issuers: [] });
// @ts-expect-error reference
await createAuthServer({ ...needed, tokens: { lifetimes: 'reference' } });
// @ts-expect-error fortnights
await createAuthServer({ ...needed, tokens: { revocationLag: '2 fortnights' } });
// @ts-expect-error pages, not their options
await createAuthServer({ ...needed, interactions: { brand: { name: 'Acme' } } });
// @ts-expect-error a colour of the brand, not of the pages
pages({ accent: '#0b57d0' });
// @ts-expect-error an address, a Knex instance or its configuration
knexStorage(5432);

// The user store determines the type of users; their id is a string.
({ verifyPassword: async () => ({ id: '1' }), find: async () => undefined }) satisfies UserStore;
({
  // @ts-expect-error the id is a number
  verifyPassword: async () => ({ id: 1 }),
  find: async () => undefined,
}) satisfies UserStore;

// currentUser returns the host's type of user.
declare const persons: UserStore<User & { readonly schoolId: string }>;
await createAuthServer({
  ...needed,
  users: persons,
  login: { currentUser: () => ({ id: '1', schoolId: 'hill' }) },
});
// @ts-expect-error a person has a school
await createAuthServer({ ...needed, users: persons, login: { currentUser: () => ({ id: '1' }) } });

// tokenClaims gets one of the host's users, or the client alone.
await createAuthServer({
  ...needed,
  users: persons,
  tokens: {
    async claims(context) {
      if (context.user) {
        context.grantId satisfies string;
        return { school: context.user.schoolId };
      }
      context.grantId satisfies undefined;
      // @ts-expect-error there is no user
      void context.user.schoolId;
      return { owner: context.client.ownerId, scopes: context.scopes };
    },
  },
});
await createAuthServer({ ...needed, tokens: { claims: () => undefined } });
// @ts-expect-error claims have names
await createAuthServer({ ...needed, tokens: { claims: () => 'north' } });

'1 year' satisfies Duration;
'90s' satisfies Duration;
'2 weeks' satisfies Duration;
3600 satisfies Duration;
// @ts-expect-error no unit
'3600' satisfies Duration;

// Options may be assigned step by step.
const options: AuthServerOptions<'view_schools', 'registrar'> = needed;
await createAuthServer(options);
