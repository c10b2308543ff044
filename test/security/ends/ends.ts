import { decodeJwt } from 'jose';
import { agents, devices, openid, personalTokens } from 'koa-gatehouse';
import type { AgentOptions, AuditRecord } from 'koa-gatehouse';

import { BOTH_SCOPES, signOut } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { postForm } from '../../harness/requests.ts';
import { asClient, exchangeCode } from '../../harness/tokens.ts';
import type { Held } from './held.ts';
import { AGENTS, directly, EVERYTHING, FEATURES, users } from './nodes.ts';
import type { Options } from './nodes.ts';
import type { PlaceName } from './places.ts';

/** A way to end something. */
export interface End {
  /** Ends it on one of the nodes. */
  readonly run?: (node: Platform, held: Held) => Promise<unknown>;
  /** Takes it back: everything works again. */
  readonly undo?: (node: Platform, held: Held) => Promise<unknown>;
  /** Why the node that ends it learns of it within `tokens.revocationLag` too. */
  readonly isLate?: string;
  /** The options of the servers that are asked afterwards: nothing else has ended it. */
  readonly options?: Options;
  /** What the places answer that it reaches. */
  readonly reaches: Partial<Readonly<Record<PlaceName, string>>>;
  /** Why it does not reach the others, which answer as before. */
  readonly others: readonly (readonly [reason: string, ...places: PlaceName[]])[];
  /** The members of the events that it leaves, one for each thing that it ends. */
  readonly events: (held: Held) => readonly Partial<AuditRecord>[];
  /** The same, of what is recorded when the end is noticed. @default none */
  readonly laterEvents?: (held: Held) => readonly Partial<AuditRecord>[];
}

const appsOf = ({ agent, app, device, registered, service, unknown }: Held): readonly string[] => [
  ...[app, service, device, agent, registered].map(({ client }) => client.id),
  unknown.id,
];

type Answers = End['reaches'];
type Reason = End['others'][number];

const OF_SESSION: Reason = ['it is the login of a user, whatever app', 'the guard, a session'];
const OF_NO_APP: Reason = [
  'a personal token belongs to no app',
  'the guard, a personal token',
  'introspection, a personal token',
  'introspection, a personal token for agents',
];
const OF_NO_USER: Reason = [
  'it speaks for the app itself',
  'client credentials',
  'the guard, a client for itself',
  'introspection, a client for itself',
];
const UNANSWERED: Reason = ['no user has answered yet', 'a poll, waiting'];
const REVOCABLE: Reason = ['what cannot be used may be revoked all the same', 'revocation'];
const OF_ITSELF: Reason = ['it authenticates anew', 'client credentials'];

const OF_APP = [
  'the guard',
  'userinfo',
  'introspection',
  'introspection, a refresh token',
  'a refresh',
] as const;
const OTHER_GRANTS = ['revocation', 'a code'] as const;
const OF_DEVICE = ['a poll, waiting', 'a poll, approved', 'a refresh, a device'] as const;
const OF_AGENT = ['/mcp', 'introspection, an agent', 'a refresh, an agent', 'userinfo, an agent'] as const;
const OF_DOCUMENT = [
  'the guard, an app with a document',
  'introspection, an app with a document',
  'a refresh, an app with a document',
] as const;
const OF_REGISTERED = [
  'the guard, an app that registered itself',
  'a refresh, an app that registered itself',
] as const;
const OTHER_APPS = [...OF_AGENT, ...OF_DEVICE, ...OF_DOCUMENT, ...OF_REGISTERED] as const;

/** What an end of the login alone reaches, whoever makes it. */
const OF_LOGIN: Pick<End, 'events' | 'others' | 'reaches'> = {
  reaches: { 'the guard, a session': '401 login_required' },
  others: [
    ['apps go on without the login', ...OF_APP, ...OTHER_GRANTS, ...OTHER_APPS],
    OF_NO_USER,
    OF_NO_APP,
  ],
  events: ({ person }) => [{ type: 'logout', userId: person.id }],
};

/** What reaches all that apps hold for their users. */
function ofUsers(guard: string, token = '400 invalid_grant'): Answers {
  return {
    ...ofApp(guard, token),
    'a code': token,
    'a poll, approved': token,
    'a refresh, a device': token,
    ...ofAgent(guard, token),
    ...ofDocument(guard, token),
    'the guard, an app that registered itself': guard,
    'a refresh, an app that registered itself': token,
  };
}

/** What reaches the grant of one app. */
function ofApp(guard: string, token = '400 invalid_grant'): Answers {
  return {
    'the guard': guard,
    userinfo: '401 invalid_token',
    introspection: 'inactive',
    'introspection, a refresh token': token.startsWith('401') ? token : 'inactive',
    'a refresh': token,
  };
}

function ofAgent(guard: string, token: string): Answers {
  return {
    '/mcp': guard,
    'introspection, an agent': 'inactive',
    'a refresh, an agent': token,
    'userinfo, an agent': '401 invalid_token',
  };
}

function ofDocument(guard: string, token: string): Answers {
  return {
    'the guard, an app with a document': guard,
    'introspection, an app with a document': 'inactive',
    'a refresh, an app with a document': token,
  };
}

/** What reaches all that apps hold for themselves. */
function ofThemselves(guard: string): Answers {
  return { 'the guard, a client for itself': guard, 'introspection, a client for itself': 'inactive' };
}

const REVOKED = '401 token_revoked';
const GONE = '401 token_holder_gone';
const NO_CLIENT = '401 invalid_client';

const NO_SCOPE = '400 invalid_scope';

/** Of an app that is not there: it cannot authenticate. */
const WITHOUT_APP: Answers = {
  ...ofUsers(GONE, NO_CLIENT),
  ...ofThemselves(GONE),
  revocation: NO_CLIENT,
  'a poll, waiting': NO_CLIENT,
  'client credentials': NO_CLIENT,
};

const ENDED_PERSONAL: Answers = {
  'the guard, a personal token': '401 token_invalid',
  'introspection, a personal token': 'inactive',
  'introspection, a personal token for agents': 'inactive',
};

function ofGrant({ app, person }: Held): Partial<AuditRecord> {
  const [clientId, userId, grantId] = [app.client.id, person.id, grantOf(app.tokens)];
  return { type: 'tokens_revoked', target: 'grant', clientId, userId, grantId };
}

function grantOf({ access_token: token }: { readonly access_token: string }): string {
  return decodeJwt(token)['grant_id'] as string;
}

const ONE_GRANT: Pick<End, 'others' | 'reaches'> = {
  reaches: ofApp(REVOKED),
  others: [['it is of another grant', ...OTHER_GRANTS, ...OTHER_APPS], OF_NO_USER, OF_NO_APP, OF_SESSION],
};

export const ENDS: Readonly<Record<string, End>> = {
  'clients.disable()': {
    run: async ({ auth }, held) => {
      for (const id of appsOf(held)) await auth.clients.disable(id);
    },
    undo: async ({ auth }, held) => {
      for (const id of appsOf(held)) await auth.clients.enable(id);
    },
    reaches: WITHOUT_APP,
    others: [OF_SESSION, OF_NO_APP],
    events: (held) => appsOf(held).map((clientId) => ({ type: 'client_disabled', clientId })),
  },
  'clients.delete()': {
    run: async ({ auth }, held) => {
      for (const id of appsOf(held)) await auth.clients.delete(id);
    },
    reaches: WITHOUT_APP,
    others: [OF_SESSION, OF_NO_APP],
    events: (held) => appsOf(held).map((clientId) => ({ type: 'client_deleted', clientId })),
  },
  'revoke({ client })': {
    run: async ({ auth }, held) => {
      for (const client of appsOf(held)) await auth.revoke({ clientId: client });
    },
    reaches: { ...ofUsers(REVOKED), ...ofThemselves(REVOKED), 'a poll, waiting': '400 invalid_grant' },
    others: [OF_SESSION, OF_NO_APP, OF_ITSELF, REVOCABLE],
    events: (held) =>
      appsOf(held).map((clientId) => ({ type: 'tokens_revoked', target: 'client', clientId })),
  },
  'revoke({ user })': {
    run: async ({ auth }, { person }) => auth.revoke({ userId: person.id }),
    reaches: { ...ofUsers(REVOKED), ...ENDED_PERSONAL, 'the guard, a session': '401 login_required' },
    others: [OF_NO_USER, UNANSWERED, REVOCABLE],
    events: ({ person }) => [{ type: 'tokens_revoked', target: 'user', userId: person.id }],
  },
  'the user is removed': {
    isLate: "the table of users is the host's",
    run: async (_node, { person }) => users.all.splice(users.all.indexOf(person), 1),
    reaches: { ...ofUsers(GONE), ...ENDED_PERSONAL, 'the guard, a session': '401 login_required' },
    others: [OF_NO_USER, UNANSWERED, REVOCABLE],
    events: () => [],
    laterEvents: ({ person }) => [{ type: 'tokens_revoked', target: 'user', userId: person.id }],
  },
  'revoke({ all })': {
    run: async ({ auth }) => auth.revoke({ all: true }),
    reaches: {
      ...ofUsers(REVOKED),
      ...ofThemselves(REVOKED),
      ...ENDED_PERSONAL,
      'the guard, a session': '401 login_required',
      'a poll, waiting': '400 invalid_grant',
    },
    others: [OF_ITSELF, REVOCABLE],
    events: () => [{ type: 'tokens_revoked', target: 'all' }],
  },
  'revoke({ grant })': {
    run: async ({ auth }, { app }) => auth.revoke({ grantId: grantOf(app.tokens) }),
    ...ONE_GRANT,
    events: (held) => [ofGrant(held)],
  },
  'revoke({ token }), a refresh token': {
    run: async ({ auth }, { app }) => auth.revoke({ token: app.tokens.refresh_token }),
    ...ONE_GRANT,
    events: (held) => [ofGrant(held)],
  },
  'the app revokes its refresh token': {
    run: async (node, { app }) => {
      const fields = { token: app.tokens.refresh_token, ...asClient(app) };
      await postForm(directly(node).url('/oauth/revoke'), fields);
    },
    ...ONE_GRANT,
    events: (held) => [ofGrant(held)],
  },
  'a code is sent twice': {
    run: async (node, { app }) => exchangeCode(node, app, app.spent),
    ...ONE_GRANT,
    events: (held) => [ofGrant(held), { type: 'token_refused', clientId: held.app.client.id }],
  },
  'grants.revoke({ connection })': {
    run: async ({ auth }, { app, person }) =>
      auth.userGrants.revoke(person.id, { grantId: grantOf(app.tokens) }),
    ...ONE_GRANT,
    events: (held) => [{ ...ofGrant(held), actorId: held.person.id }],
  },
  'grants.revoke({ app })': {
    run: async ({ auth }, { agent, app, person }) => {
      for (const { client } of [app, agent]) await auth.userGrants.revoke(person.id, { clientId: client.id });
    },
    reaches: {
      ...ofApp(REVOKED),
      'a code': '400 invalid_grant',
      ...ofAgent(REVOKED, '400 invalid_grant'),
    },
    others: [
      ['it is of another app', ...OF_DEVICE, ...OF_DOCUMENT, ...OF_REGISTERED],
      OF_NO_USER,
      OF_NO_APP,
      OF_SESSION,
      REVOCABLE,
    ],
    // The agent is first-party, so that no consent to it is stored.
    events: ({ agent, app, person }) =>
      [app, agent].map(({ client }) => ({
        type: 'consent_withdrawn',
        clientId: client.id,
        userId: person.id,
        actorId: person.id,
      })),
  },
  'revoke({ token }), access tokens': {
    run: async ({ auth }, { agent, app, service, unknown, registered }) => {
      for (const { access_token: token } of [app, agent, unknown, registered].map(({ tokens }) => tokens))
        await auth.revoke({ token });
      await auth.revoke({ token: service.token });
    },
    reaches: {
      'the guard': REVOKED,
      userinfo: '401 invalid_token',
      introspection: 'inactive',
      '/mcp': REVOKED,
      'introspection, an agent': 'inactive',
      'userinfo, an agent': '401 invalid_token',
      ...ofThemselves(REVOKED),
      'the guard, an app with a document': REVOKED,
      'introspection, an app with a document': 'inactive',
      'the guard, an app that registered itself': REVOKED,
    },
    others: [
      [
        'an access token is revoked alone',
        'introspection, a refresh token',
        'a refresh',
        'a refresh, an agent',
        ...OTHER_GRANTS,
        ...OF_DEVICE,
        'a refresh, an app with a document',
        'a refresh, an app that registered itself',
      ],
      OF_NO_APP,
      OF_ITSELF,
      OF_SESSION,
    ],
    events: ({ agent, app, person, registered, service, unknown }) => [
      ...[app.client.id, agent.client.id, unknown.id, registered.client.id].map(
        (clientId) => ({ type: 'tokens_revoked', target: 'token', clientId, userId: person.id }) as const,
      ),
      { type: 'tokens_revoked', target: 'token', clientId: service.client.id },
    ],
  },
  'the personal tokens are ended': {
    run: async ({ auth }, { personal, personalOfAgent }) => {
      for (const { id } of [personal, personalOfAgent]) await auth.personalTokens.revoke(id);
    },
    reaches: ENDED_PERSONAL,
    others: [['it is of an app', ...OF_APP, ...OTHER_GRANTS, ...OTHER_APPS], OF_NO_USER, OF_SESSION],
    events: ({ person, personal, personalOfAgent }) =>
      [personal, personalOfAgent].map(({ id }) => ({
        type: 'personal_token_revoked',
        userId: person.id,
        tokenId: id,
        name: 'Nightly',
      })),
  },
  'the user signs out': {
    run: async (node, { browser }) => signOut(node, browser),
    ...OF_LOGIN,
  },
  'grants.revoke({ session })': {
    run: async ({ auth }, { person }) => {
      for (const { id } of (await auth.userGrants.list(person.id)).sessions)
        await auth.userGrants.revoke(person.id, { sessionId: id });
    },
    ...OF_LOGIN,
  },
  'a secret expires': {
    run: async ({ auth }, { service }) => {
      const [first] = await auth.clients.secrets(service.client.id);
      await auth.clients.rotateSecret(service.client.id, { overlap: '1 second' });
      const until = (await auth.clients.secrets(service.client.id)).find(({ id }) => id === first!.id)!;
      while (Date.now() < until.expiresAt! * 1000) await new Promise((resolve) => setTimeout(resolve, 50));
    },
    reaches: { 'client credentials': NO_CLIENT },
    others: [
      [
        'a secret is needed for a new token only',
        'the guard, a client for itself',
        'introspection, a client for itself',
      ],
      ['it is of another app', ...OF_APP, ...OTHER_GRANTS, ...OTHER_APPS],
      OF_NO_APP,
      OF_SESSION,
    ],
    // The old one ends by itself.
    events: ({ service }) => [{ type: 'secret_added', clientId: service.client.id }],
  },
  'without documents of agents()': {
    options: { ...EVERYTHING, features: featuresWith({ documents: false }) },
    reaches: ofDocument(GONE, NO_CLIENT),
    others: [
      [
        'it is of an app that has no document',
        ...OF_APP,
        ...OTHER_GRANTS,
        ...OF_AGENT,
        ...OF_DEVICE,
        ...OF_REGISTERED,
      ],
      OF_NO_USER,
      OF_NO_APP,
      OF_SESSION,
    ],
    events: () => [],
  },
  'without registration of agents()': {
    options: { ...EVERYTHING, features: featuresWith({ registration: false }) },
    reaches: {},
    others: [
      ['apps that have registered stay, as those that people have registered', ...OF_REGISTERED],
      ['it did not register itself', ...OF_APP, ...OTHER_GRANTS, ...OF_AGENT, ...OF_DEVICE, ...OF_DOCUMENT],
      OF_NO_USER,
      OF_NO_APP,
      OF_SESSION,
    ],
    events: () => [],
  },
  'without devices()': {
    options: { ...EVERYTHING, features: [openid(), personalTokens(), agents(AGENTS)] },
    reaches: {
      'a poll, waiting': '400 unsupported_grant_type',
      'a poll, approved': '400 unsupported_grant_type',
    },
    others: [
      ['what users have approved goes on', 'a refresh, a device'],
      ['it is of no device', ...OF_APP, ...OTHER_GRANTS, ...OF_AGENT, ...OF_DOCUMENT, ...OF_REGISTERED],
      OF_NO_USER,
      OF_NO_APP,
      OF_SESSION,
    ],
    events: () => [],
  },
  'without personalTokens()': {
    options: { ...EVERYTHING, features: [openid(), devices(), agents(AGENTS)] },
    reaches: { ...ENDED_PERSONAL, 'the guard, a personal token': '401 token_malformed' },
    others: [['it is of an app', ...OF_APP, ...OTHER_GRANTS, ...OTHER_APPS], OF_NO_USER, OF_SESSION],
    events: () => [],
  },
  'without a scope': {
    options: {
      ...EVERYTHING,
      scopes: { 'schools:write': BOTH_SCOPES['schools:write'] },
      features: featuresWith({
        documents: { ...AGENTS.documents, scopes: ['schools:write'] },
        registration: { scopes: ['schools:write'] },
      }),
    },
    // A token of which no scope is left permits nothing, and no further one is issued: without scopes, it would permit everything.
    reaches: {
      'the guard': '403 insufficient_scope',
      introspection: 'active openid schools:write',
      'introspection, a refresh token': 'active openid schools:write',
      'a refresh': '200 openid schools:write',
      'a code': NO_SCOPE,
      'a poll, approved': NO_SCOPE,
      'a refresh, a device': NO_SCOPE,
      'the guard, a personal token': '403 insufficient_scope',
      'introspection, a personal token': 'active limited',
      'the guard, an app with a document': '403 missing_permission',
      'introspection, an app with a document': 'active limited',
      'a refresh, an app with a document': NO_SCOPE,
      'the guard, an app that registered itself': '403 missing_permission',
      'a refresh, an app that registered itself': NO_SCOPE,
    },
    others: [
      ['it tells who the user is', 'userinfo'],
      ['no user can approve it', 'a poll, waiting'],
      ['the scopes of another API are others', ...OF_AGENT, 'introspection, a personal token for agents'],
      OF_NO_USER,
      OF_SESSION,
      REVOCABLE,
    ],
    events: () => [],
  },
  'without an API': {
    options: { ...EVERYTHING, resources: {} },
    reaches: {
      // The endpoint is an API of its own: the host does not serve it.
      ...ofAgent('404', '400 invalid_target'),
      'introspection, a personal token for agents': 'inactive',
    },
    others: [
      ['it is for another API', ...OF_APP, ...OTHER_GRANTS, ...OF_DEVICE, ...OF_DOCUMENT, ...OF_REGISTERED],
      ['it is for another API', 'the guard, a personal token', 'introspection, a personal token'],
      OF_NO_USER,
      OF_SESSION,
    ],
    events: () => [],
  },
  'without openid()': {
    options: { ...EVERYTHING, features: FEATURES.filter(({ name }) => name !== 'openid') },
    reaches: {
      userinfo: '404',
      introspection: 'active schools:read schools:write',
      'introspection, a refresh token': 'active schools:read schools:write',
      'a refresh': '200 schools:read schools:write',
      'introspection, an agent': 'active tools:use',
      'a refresh, an agent': '200 tools:use',
      'userinfo, an agent': '404',
    },
    others: [
      ['the scopes of the API go on', 'the guard', '/mcp', ...OTHER_GRANTS],
      ['it has no scope of OpenID Connect', ...OF_DEVICE, ...OF_DOCUMENT, ...OF_REGISTERED],
      OF_NO_USER,
      OF_NO_APP,
      OF_SESSION,
    ],
    events: () => [],
  },
};

/** The features of a server at which everything is on, with other options of `agents()`. */
function featuresWith(changed: AgentOptions): Options['features'] {
  return [openid(), devices(), personalTokens(), agents({ ...AGENTS, ...changed })];
}
