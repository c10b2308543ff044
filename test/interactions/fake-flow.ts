import type {
  Client,
  Interaction,
  InteractionFlow,
  InteractionScope,
  User,
} from '../../lib/contracts/index.ts';
import { InteractionExpiredError } from '../../lib/errors.ts';
import { clientKindsOf, clientSourcesOf } from '../../lib/features/known.ts';
import { completeClient } from '../harness/client.ts';

export const ann: User = { id: 'u1', name: 'Ann Lee', email: 'ann@school.example' };

export const reports: Client = completeClient({
  id: '6f2c1c1e-57c5-4a52-9d2f-0d5f0e3b8f10',
  name: 'Reports',
  redirectUris: ['https://reports.example/callback'],
});

/** A scope that the app asks for. */
export function asked(
  scope: Pick<InteractionScope, 'name' | 'description'> & Partial<InteractionScope>,
): InteractionScope {
  return { aboutUser: false, optional: false, consented: false, ...scope };
}

export interface FakeFlow extends InteractionFlow {
  /** The calls of the pages, in order, such as `login u1`. */
  readonly calls: string[];
}

/** A flow with two open interactions, `/oauth/interaction/login` and `/oauth/interaction/consent`. */
export function fakeFlow(
  change: {
    flow?: Partial<InteractionFlow>;
    login?: Partial<Interaction>;
    consent?: Partial<Interaction>;
  } = {},
): FakeFlow {
  const basePath = change.flow?.basePath ?? '';
  const common = {
    client: reports,
    resource: undefined,
    scopes: [],
    limited: false,
    redirectUri: 'https://reports.example/callback?from=gatehouse',
    loginHint: undefined,
    uiLocales: undefined,
    canSwitchUser: true,
  };
  const open = new Map<string, Interaction>([
    [
      'login',
      {
        ...common,
        uid: 'login',
        prompt: 'login',
        user: undefined,
        action: `${basePath}/oauth/interaction/login`,
        ...change.login,
      },
    ],
    [
      'consent',
      {
        ...common,
        uid: 'consent',
        prompt: 'consent',
        user: ann,
        action: `${basePath}/oauth/interaction/consent`,
        ...change.consent,
      },
    ],
  ]);
  const calls: string[] = [];
  const goTo = (step: string): string => {
    calls.push(step);
    return `${basePath}/oauth/authorize/${step.split(' ')[0]}`;
  };
  return {
    calls,
    basePath,
    origin: 'https://platform.example',
    find: async (_ctx, uid) => {
      const interaction = open.get(uid);
      if (!interaction) throw new InteractionExpiredError();
      return interaction;
    },
    authenticate: async (_ctx, login, password) => {
      calls.push(`authenticate ${login}`);
      return login === ann.email && password === ' right, blanks and all ' ? ann : undefined;
    },
    login: async (_ctx, { uid }, user) => goTo(`login ${uid} ${user.id}`),
    consent: async (_ctx, { uid }, chosen = []) => goTo(['consent', uid, ...chosen].join(' ')),
    deny: async (_ctx, { uid }) => goTo(`deny ${uid}`),
    switchUser: async (_ctx, { uid }) => goTo(`switch ${uid}`),
    refused: () => 'request-1',
    skipLogin: async () => undefined,
    currentUser: async () => ann,
    loginUrl: (path) => `${basePath}/oauth/login?${new URLSearchParams({ return_to: path }).toString()}`,
    pathHere: (path) => (/^\/(?![/\\])/.test(path) ? path : undefined),
    signIn: async (_ctx, user) => {
      calls.push(`signIn ${user.id}`);
    },
    userToSignOut: async (ctx) => (change.flow?.currentUser ? change.flow.currentUser(ctx) : ann),
    logout: async () => {
      calls.push('logout');
      return { hostSessionContinues: false };
    },
    clientKinds: clientKindsOf([]),
    clientSources: clientSourcesOf([]),
    features: [],
    accountPath: undefined,
    logo: async () => undefined,
    apiUrl: undefined,
    authorizedApps: () => ({
      list: async () => [],
      disconnect: async () => false,
      endConnection: async () => false,
    }),
    ...change.flow,
  };
}
