import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import test from '../harness/test.ts';
import * as main from 'koa-gatehouse';
import {
  createAdministration,
  createApiRouter,
  createAuthServer,
  defineAction,
  defineGate,
  GatehouseError,
} from 'koa-gatehouse';
import * as knexAdapter from 'koa-gatehouse/adapters/knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import * as memoryAdapter from 'koa-gatehouse/adapters/memory';
import * as sqlAdapter from 'koa-gatehouse/adapters/sql';
import { sqlStorage } from 'koa-gatehouse/adapters/sql';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import * as htmlPdf from 'koa-gatehouse/html-pdf';
import { createHtmlToPdf, gotenbergHtmlToPdf } from 'koa-gatehouse/html-pdf';
import * as interactions from 'koa-gatehouse/interactions';
import { pages } from 'koa-gatehouse/interactions';
import * as mcp from 'koa-gatehouse/mcp';
import { createMcpEndpoint, createTokenVerifier } from 'koa-gatehouse/mcp';
import * as metricsModule from 'koa-gatehouse/metrics';
import { createMetrics } from 'koa-gatehouse/metrics';
import * as pdfModule from 'koa-gatehouse/pdf';
import { PdfClient } from 'koa-gatehouse/pdf';
import * as testing from 'koa-gatehouse/testing';
import { actingAsClient, actingAsUser, fakeClock, issueToken, testServer } from 'koa-gatehouse/testing';
import type { WithPersonalTokens } from 'koa-gatehouse/types';
import { z } from 'zod';

import { CHROMIUM } from '../harness/chromium-path.ts';
import { shared } from '../harness/shared.ts';

const ENTRY_POINTS: Readonly<Record<string, object>> = {
  '.': main,
  './adapters/knex': knexAdapter,
  './adapters/memory': memoryAdapter,
  './adapters/sql': sqlAdapter,
  './html-pdf': htmlPdf,
  './interactions': interactions,
  './mcp': mcp,
  './metrics': metricsModule,
  './pdf': pdfModule,
  './testing': testing,
};

/** What no function has an option for. */
interface Misspelt {
  readonly colour: string;
}

/** How to call each function with each object that it takes, or why it takes none whose names it could refuse. */
type Calls = Readonly<Record<string, readonly ((misspelt: Misspelt) => unknown)[] | string>>;

const NOTHING = 'takes no object';

/** As a program in JavaScript passes it. */
const as = (value: object): never => value as never;

const gate = defineGate({ permissions: { edit_schools: 'Edit schools' } });
const scopes = { write: { description: 'Edit schools', permissions: ['edit_schools' as const] } };
const AGENTS = 'http://127.0.0.1/mcp';
const ann = { id: 'ann', name: 'Ann', permissions: ['edit_schools' as const] };
const OPTIONS = {
  issuer: 'http://127.0.0.1',
  users: { find: async () => undefined, verifyPassword: async () => undefined },
  storage: memoryStorage(),
};

const started = shared(async (stack) => {
  const server = await testServer({
    gate,
    scopes,
    users: [ann],
    resources: { [AGENTS]: { name: 'Agents', scopes } },
    features: [main.devices(), main.personalTokens()],
  });
  const auth = server.auth as typeof server.auth & WithPersonalTokens;
  const withFeatures = await administration.featureMembers(main.personalTokens());
  const registered = await auth.clients.create(as(CLIENT));
  const clientId = registered.client.id;
  const administered = await administration.clients.create(as(CLIENT));
  // Without roles and permissions in its user store.
  const plain = await createAuthServer({ ...OPTIONS, gate });
  const metrics = createMetrics(auth);
  stack.defer(async () => {
    await server.close();
    await plain.close();
    await administration.close();
    await chromium?.close();
  });
  const CALLS: Calls = {
    ...prefixed('auth.clients', clientsOf(auth, clientId)),
    ...prefixed('administration.clients', clientsOf(administration, administered.client.id)),
    ...prefixed('auth.gate', {
      has: NOTHING,
      hasRule: NOTHING,
      effectivePermissions: 'takes an assignment, all of whose members are required, such as a client has',
      can: 'takes a principal, and an object of the host',
      authorize: 'takes a principal, and an object of the host',
    }),
    ...prefixed('auth.assignments', {
      find: NOTHING,
      set: [async (given) => plain.assignments.set('ann', as(given))],
      delete: NOTHING,
    }),
    ...prefixed('auth.audit', auditOf(auth.audit)),
    ...prefixed('auth.events', auditOf(auth.audit)),
    ...prefixed('auth.personalTokens', {
      create: [async (given) => auth.personalTokens.create(as({ ...personal, ...given }))],
      list: NOTHING,
      revoke: NOTHING,
    }),
    ...prefixed('auth.devices', { page: NOTHING, find: NOTHING, approve: NOTHING, deny: NOTHING }),
    ...prefixed('auth.userGrants', {
      list: NOTHING,
      revoke: [
        async (given) => auth.userGrants.revoke('ann', as(given)),
        async (given) => auth.userGrants.revoke('ann', as({ clientId, ...given })),
      ],
    }),
    ...prefixed('auth.userData', userDataOf(auth)),
    ...prefixed('auth.signingKeys', {
      list: NOTHING,
      rotate: [async (given) => auth.signingKeys.rotate(as(given))],
    }),
    ...prefixed('auth', {
      observe: [() => auth.observe(as({ answered() {}, colour() {} }))],
      middleware: NOTHING,
      callback: NOTHING,
      authenticate: [async (given) => auth.authenticate({} as never, as(given))],
      guard: [(given) => auth.guard(as(given))],
      requires: NOTHING,
      issueToken: [async (given) => auth.issueToken(as({ clientId, userId: 'ann', ...given }))],
      revoke: [
        async (given) => auth.revoke(as(given)),
        async (given) => auth.revoke(as({ userId: 'ann', ...given })),
      ],
      prune: [async (given) => auth.prune(as(given))],
      doctor: NOTHING,
      featureMembers: 'takes what a function of a feature returns',
      ready: NOTHING,
      health: NOTHING,
      close: [async (given) => auth.close(as(given))],
    }),
    ...prefixed('administration', {
      importClient: [
        async (given) => administration.importClient(as({ id: '1', ...CLIENT, ...given })),
        async (given) =>
          administration.importClient(
            as({ id: '1', ...CLIENT, secret: { value: 'a'.repeat(40), ...given } }),
          ),
        async (given) => administration.importClient(as({ id: '1', ...CLIENT }), as(given)),
      ],
      revoke: [
        async (given) => administration.revoke(as(given)),
        async (given) => administration.revoke(as({ userId: 'ann', ...given })),
      ],
      prune: [async (given) => administration.prune(as(given))],
      doctor: [async (given) => administration.doctor(as(given))],
      featureMembers: 'takes what a function of a feature returns',
      close: NOTHING,
    }),
    ...prefixed('administration.signingKeys', {
      list: NOTHING,
      rotate: [async (given) => administration.signingKeys.rotate(as(given))],
      encrypt: NOTHING,
      revoke: [async (given) => administration.signingKeys.revoke(as(given))],
    }),
    ...prefixed('administration.personalTokens', {
      create: [async (given) => withFeatures.personalTokens.create(as({ ...personal, ...given }))],
      list: NOTHING,
      revoke: NOTHING,
      revokeOfUser: 'is internal: the pages of users call it',
    }),
    ...prefixed('administration.userData', userDataOf(administration)),
    ...prefixed('administration.audit', auditOf(administration.audit)),
    createAdministration: [
      (given) => createAdministration(as({ storage: memoryStorage(), ...given })),
      ...['tokens', 'secrets', 'retention'].map(
        (group) => (given: Misspelt) =>
          createAdministration(as({ storage: memoryStorage(), [group]: given })),
      ),
    ],
    developer: [(given) => main.developer(as(given))],
    devices: [
      (given) => main.devices(as(given)),
      ...['userCodes', 'requests'].map((group) => (given: Misspelt) => main.devices(as({ [group]: given }))),
    ],
    agents: [
      (given) => main.agents(as(given)),
      ...['documents', 'registration'].map(
        (group) => (given: Misspelt) => main.agents(as({ [group]: given })),
      ),
    ],
    openid: [
      (given) => main.openid(as(given)),
      (given) => main.openid(as({ scopes: { groups: { description: 'Groups', ...given } } })),
    ],
    laravelPassport: [(given) => main.laravelPassport(as(given))],
    personalTokens: [(given) => main.personalTokens(as(given))],
    pushedRequests: [
      (given) => main.pushedRequests(as(given)),
      (given) => main.pushedRequests(as({ requests: given })),
    ],
    trustedIssuers: [
      { profile: 'id-jag', scopes: ['write'], findUser: () => undefined },
      { profile: 'workload', rules: [{ client: 'c', match: { sub: 's' } }] },
    ].map(
      (issuer) => (given: Misspelt) =>
        main.trustedIssuers(as({ 'https://idp.example': { ...issuer, ...given } })),
    ),
    createApiRouter: [
      (given) => createApiRouter(as({ auth, ...given })),
      ...['bulk', 'limits', 'openapi'].map(
        (group) => (given: Misspelt) => createApiRouter(as({ auth, [group]: given })),
      ),
    ],
    createAuthServer: [
      serverWith,
      ...['login', 'clients', 'tokens', 'secrets', 'limits', 'paths', 'retention'].map(
        (group) => async (given: Misspelt) => serverWith({ [group]: given }),
      ),
      async (given) => serverWith({ tokens: { lifetimes: given } }),
      async (given) => serverWith({ limits: { attempts: given } }),
      async (given) => serverWith({ limits: { attempts: { login: given } } }),
      async (given) => serverWith({ gate, scopes: { write: { ...scopes.write, ...given } } }),
      async (given) => serverWith({ gate, resources: { [AGENTS]: { name: 'Agents', scopes, ...given } } }),
    ],
    defineAction: [
      (given) => defineAction(as({ ...ACTION, ...given })),
      (given) => defineAction(as({ ...ACTION, limit: { requests: 1, window: '1 minute', ...given } })),
    ],
    defineGate: [
      (given) => defineGate(as({ permissions: { edit_schools: 'Edit schools' }, ...given })),
      (given) => defineGate(as({ permissions: { edit_schools: { description: 'Edit', ...given } } })),
    ],
    requestIdOf: 'takes the context of a request',
    ActionError: 'takes the `cause` of an error, as those of JavaScript do',
    backupSqlite: NOTHING,
    knexStorage: [(given) => knexStorage('sqlite::memory:', as(given))],
    sqlStorage: [(given) => sqlStorage(new DatabaseSync(':memory:'), as(given))],
    laravelPassportSource: [(given) => main.laravelPassportSource('sqlite::memory:', as(given))],
    memoryStorage: NOTHING,
    escapeHtml: NOTHING,
    pages: [
      (given) => pages(as(given)),
      (given) => pages(as({ brand: given })),
      // Features have views and texts too.
      ...['text', 'views'].map(
        (group) => async (given: Misspelt) => serverWith({ interactions: pages(as({ [group]: given })) }),
      ),
    ],
    pdfText: 'takes a part of the answer of the service, which may have any members',
    walkPdf: 'takes a part of the answer of the service, which may have any members',
    PdfClient: [
      (given) => new PdfClient(as(given)),
      (given) => new PdfClient(as({ hooks: given })),
      (given) => new PdfClient(as({ agent: given })),
    ],
    ...prefixed('PdfClient', {
      extract: [async (given) => pdf.extract(new Uint8Array(), as(given))],
      render: [async (given) => pdf.render(new Uint8Array(), as(given))],
      renderStream: [async (given) => pdf.renderStream(new Uint8Array(), as(given))],
    }),
    createHtmlToPdf: [(given) => createHtmlToPdf(as({ sandbox: false, ...given }))],
    gotenbergHtmlToPdf: [(given) => gotenbergHtmlToPdf(as({ baseUrl: 'http://127.0.0.1:1', ...given }))],
    ...prefixed('gotenberg', converterOf(gotenberg)),
    ...(chromium && prefixed('chromium', converterOf(chromium))),
    createTokenVerifier: [(given) => createTokenVerifier(as({ auth, ...given }))],
    createMcpEndpoint: [(given) => createMcpEndpoint(as({ auth, resource: AGENTS, actions: [], ...given }))],
    createMetrics: [(given) => createMetrics(auth, as(given))],
    ...prefixed('metrics', { middleware: NOTHING, stop: NOTHING }),
    actingAsClient: [
      async (given) => actingAsClient(server, registered.client, as(given)),
      (given) => actingAsClient({ state: {} }, {}, as({ gate, ...given })),
      (given) => actingAsClient({ state: {} }, as(given), { gate }),
    ],
    actingAsUser: [
      async (given) => actingAsUser(server, ann, as(given)),
      (given) => actingAsUser({ state: {} }, ann, as({ gate, ...given })),
      (given) => actingAsUser({ state: {} }, ann, as({ gate, client: given })),
    ],
    issueToken: [async (given) => issueToken(auth, as({ user: ann, ...given }))],
    testServer: [async (given) => testServer(as(given))],
    ...prefixed('server', {
      authorize: [async (given) => server.authorize(registered, ann, as(given))],
      deny: [async (given) => server.deny(registered, ann, as(given))],
      close: NOTHING,
    }),
    fakeClock: NOTHING,
    ...prefixed('clock', { advance: NOTHING, set: NOTHING, restore: NOTHING }),
    connectionContract: NOTHING,
  };
  return { server, auth, withFeatures, metrics, CALLS };
});

const administration = createAdministration({ storage: memoryStorage(), gate });

const CLIENT = { name: 'App', grantType: 'authorization_code', redirectUris: ['https://app.example/cb'] };

const pdf = new PdfClient();
const gotenberg = gotenbergHtmlToPdf({ baseUrl: 'http://127.0.0.1:1' });

const chromium = CHROMIUM === undefined ? undefined : createHtmlToPdf({ sandbox: false });

async function serverWith(more: object): Promise<unknown> {
  return createAuthServer(as({ ...OPTIONS, ...more }));
}

const ACTION = {
  name: 'close-action',
  type: 'schools',
  level: 'collection',
  title: 'Close',
  permission: 'edit_schools',
  input: z.object({}),
  output: z.object({}),
  run: async () => ({}),
};

/** The methods of `auth.clients`, and of the one of an administration. */
function clientsOf({ clients }: Pick<typeof auth, 'clients'>, id: string): Calls {
  return {
    create: [async (given) => clients.create(as({ ...CLIENT, ...given }))],
    find: NOTHING,
    list: [async (given) => clients.list(as(given))],
    update: [
      async (given) => clients.update(id, as({ ...given })),
      async (given) => clients.update(id, as({ lifetimes: given })),
      async (given) => clients.update(id, as({ keys: { jwks: { keys: [] }, ...given } })),
    ],
    setLogo: NOTHING,
    setDisabled: 'is internal: disable and enable call it',
    disable: NOTHING,
    enable: NOTHING,
    delete: NOTHING,
    secrets: NOTHING,
    addSecret: [async (given) => clients.addSecret(id, as(given))],
    deleteSecret: NOTHING,
    rotateSecret: [async (given) => clients.rotateSecret(id, as(given))],
  };
}

const personal = { userId: 'ann', name: 'Script', lifetime: '1 day' };

/** `auth.audit` and `auth.events` are one object, whose members are public at one of them. */
function auditOf({ list }: Pick<typeof auth.audit, 'list'>): Calls {
  const internal = 'is internal: the server calls it';
  return {
    record: internal,
    on: NOTHING,
    list: [async (given) => list(as(given))],
    countByDay: internal,
    flush: NOTHING,
  };
}

function userDataOf({ userData }: Pick<typeof auth, 'userData'>): Calls {
  return { export: NOTHING, erase: [async (given) => userData.erase('bob', as(given))] };
}

function converterOf(converter: typeof gotenberg): Calls {
  return {
    convert: [
      async (given) => converter.convert('<p>', as(given)),
      async (given) => converter.convert('<p>', as({ margin: given })),
    ],
    stream: [async (given) => Array.fromAsync(converter.stream('<p>', as(given)))],
    close: NOTHING,
  };
}

function prefixed(of: string, calls: Calls): Calls {
  return Object.fromEntries(Object.entries(calls).map(([name, call]) => [`${of}.${name}`, call]));
}

/** The functions of an object and of the objects in it, by their names. */
function functionsIn(of: string, object: object): string[] {
  return Object.entries(object).flatMap(([name, member]: [string, unknown]) => {
    if (typeof member === 'function') return [`${of}${name}`];
    const isNamespace = member !== null && Object.getPrototypeOf(Object(member)) === Object.prototype;
    return isNamespace ? functionsIn(`${of}${name}.`, member as object) : [];
  });
}

function isError(name: string): boolean {
  return name.endsWith('Error') && name !== 'ActionError';
}

test('the list has each public function', async (t) => {
  const { auth, withFeatures, server, metrics, CALLS } = await started();
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as { exports: object };
  t.deepEqual(
    Object.keys(exports).toSorted(),
    [...Object.keys(ENTRY_POINTS), './package.json', './types'].toSorted(),
    'add the entry point to ENTRY_POINTS above',
  );
  using clock = fakeClock();
  const found = [
    ...Object.values(ENTRY_POINTS).flatMap((module) => functionsIn('', module)),
    // No declaration has its parts.
    ...functionsIn('auth.', { ...auth, parts: '' }),
    ...functionsIn('administration.', { ...administration, ...withFeatures }),
    ...functionsIn('server.', { ...server, auth: '', app: '' }),
    ...functionsIn('metrics.', metrics),
    ...functionsIn('clock.', clock),
    ...functionsIn('gotenberg.', gotenberg),
    ...(chromium ? functionsIn('chromium.', chromium) : []),
    ...Object.entries(Object.getOwnPropertyDescriptors(PdfClient.prototype))
      .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
      .map(([name]) => `PdfClient.${name}`),
  ];
  t.deepEqual(
    [...new Set(found)].filter((name) => !isError(name) && !(name in CALLS)),
    [],
    'add each to the table, with a call for each object that it takes',
  );
  t.deepEqual(
    Object.keys(CALLS).filter((name) => !found.includes(name)),
    [],
    'take these out of the table: there is no such function',
  );
});

test('each refuses a name that it does not know', async (t) => {
  const { CALLS } = await started();
  for (const [name, calls] of Object.entries(CALLS)) {
    if (typeof calls === 'string') continue;
    for (const [index, call] of calls.entries()) {
      const error = await refusal(() => call({ colour: 'red' }));
      const isRight = error instanceof GatehouseError && error.message.includes('colour');
      t.true(isRight, `${name}, call ${index + 1}: ${String(error)}`);
    }
  }
});

async function refusal(call: () => unknown): Promise<unknown> {
  try {
    const result = await call();
    return `no error, but ${typeof result}`;
  } catch (error) {
    return error;
  }
}
