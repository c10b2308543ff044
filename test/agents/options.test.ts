// The options of agents(): each mistake is an error that names the option and the remedy.
import test from '../harness/test.ts';
import { agents, createAuthServer } from 'koa-gatehouse';
import type { AgentOptions, AuthServerOptions } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { people } from '../harness/platform.ts';

type Mistake = readonly [options: unknown, place: string, remedy: string | RegExp];

const PART =
  'scopes, defaultScopes, initialAccessTokens, allow, maxClients, perAddress, unauthorizedAfter, unusedAfter';
const COUNT = 'give a whole number of at least 1';
const SCOPES = "list the names of the scopes, such as ['schools:read']";

const WRONG: readonly Mistake[] = [
  ['yes', '', 'pass an object with some of apis, registration, documents'],
  [{ registrations: {} }, 'registrations', /^there is no such option; did you mean registration\? /],
  ...['https://x.example/mcp', [], [5]].map((apis): Mistake => [
    { apis },
    'apis',
    "pass the URLs of the APIs for agents, such as ['https://platform.example/mcp']",
  ]),
  [{ registration: true }, 'registration', `pass an object with some of ${PART}, or false for none`],
  [{ registration: { scope: [] } }, 'registration.scope', /^there is no such option; did you mean scopes\? /],
  [{ registration: { scopes: 'read' } }, 'registration.scopes', SCOPES],
  [
    { registration: { initialAccessTokens: ['short'] } },
    'registration.initialAccessTokens',
    'give random strings of at least 32 characters, newest first',
  ],
  [{ registration: { allow: true } }, 'registration.allow', 'pass a function, or leave it out'],
  [{ registration: { maxClients: 0 } }, 'registration.maxClients', COUNT],
  [{ registration: { perAddress: 0 } }, 'registration.perAddress', COUNT],
  [
    { registration: { unauthorizedAfter: '10 minutes' } },
    'registration.unauthorizedAfter',
    /at least 3600 s$/,
  ],
  [{ registration: { unusedAfter: '1 hour' } }, 'registration.unusedAfter', /at least 86400 s$/],
  [
    { documents: true },
    'documents',
    'pass an object with some of allow, scopes, defaultScopes, loopback, or false for none',
  ],
  [{ documents: { scope: 'read' } }, 'documents.scope', /^there is no such option; did you mean scopes\? /],
  [{ documents: { allow: true } }, 'documents.allow', /^pass a function that decides which apps may connect/],
  [{ documents: { scopes: 'read' } }, 'documents.scopes', SCOPES],
];

const placeOf = (option: string): string => (option === '' ? 'agents()' : `agents({ ${option} })`);

for (const [options, option, remedy] of WRONG) {
  test(`agents(${JSON.stringify(options)}) is refused`, (t) => {
    const { message } = t.throws(() => agents(options as object), { code: 'ERR_CONFIG' });
    const start = `${placeOf(option)}: `;
    t.true(message.startsWith(start), message);
    if (typeof remedy === 'string') t.is(message, start + remedy);
    else t.regex(message.slice(start.length), remedy);
  });
}

const READ = { description: 'See', permissions: [] };
const NO_SCOPE = '"read" is no scope that can be listed here; there are none';
const NO_API =
  "name the API of the agents and its scopes in the option resources, such as { 'https://platform.example/mcp': { scopes: { ... } } }";

/** What does not fit the other options of the server. */
const UNFIT: readonly (readonly [
  options: AgentOptions,
  option: string,
  remedy: string,
  server?: Partial<AuthServerOptions>,
])[] = [
  [
    { apis: ['https://x.example/mcp'] },
    'apis',
    'the option resources has no API with the URL https://x.example/mcp',
  ],
  [{}, '', NO_API],
  [{ registration: { scopes: ['read'] } }, 'documents', `${NO_API}; or pass agents({ documents: false })`],
  [
    { documents: { scopes: ['read'] } },
    'registration',
    `${NO_API}; or pass agents({ registration: false })`,
    { scopes: { read: READ } },
  ],
  [{ documents: false, registration: { scopes: ['read'] } }, 'registration.scopes', NO_SCOPE],
  [
    { documents: false, registration: { scopes: [], defaultScopes: ['read'] } },
    'registration.defaultScopes',
    NO_SCOPE,
  ],
  [{ registration: false, documents: { scopes: ['read'] } }, 'documents.scopes', NO_SCOPE],
  [
    { registration: false, documents: { scopes: ['read'], defaultScopes: ['write'] } },
    'documents.defaultScopes',
    '"write" is no scope that can be listed here; there are read',
    { scopes: { read: READ, write: READ } },
  ],
  [
    { registration: false, documents: { scopes: [], loopback: true } },
    'documents.loopback',
    'leave it out: it is for trying an app on one machine, with an issuer such as http://localhost:3000 and without NODE_ENV=production',
  ],
];

for (const [options, option, remedy, server] of UNFIT) {
  test(`agents(${JSON.stringify(options)}) does not fit the server`, async (t) => {
    const starting = createAuthServer({
      issuer: 'https://platform.example',
      users: people(),
      storage: memoryStorage(),
      ...server,
      features: [agents(options)],
    });
    await t.throwsAsync(starting, { code: 'ERR_CONFIG', message: `${placeOf(option)}: ${remedy}` });
  });
}
