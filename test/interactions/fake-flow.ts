import type {
  AuthorizedApps,
  Client,
  ConsentForm,
  InteractionFlow,
  InteractionScope,
  User,
} from '../../lib/contracts/index.ts';
import type { FlowParts } from '../../lib/contracts/bundled-pages.ts';
import { InteractionExpiredError } from '../../lib/errors.ts';
import { clientKindsOf, clientSourcesOf } from '../../lib/features/known.ts';
import { createFlow } from '../../lib/login/flow.ts';
import type { FlowSteps } from '../../lib/login/flow.ts';
import type { OpenInteraction } from '../../lib/contracts/browser-request.ts';
import { completeClient } from '../harness/client.ts';
import { recordingLogger } from '../harness/platform.ts';

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
  const { optional = false } = scope;
  return {
    aboutUser: false,
    optional,
    field: optional ? 'scope-0' : undefined,
    checked: optional,
    consented: false,
    tools: [],
    readOnly: false,
    ...scope,
  };
}

/** The flow of pages whose steps are recorded. */
export interface FakeFlow extends InteractionFlow {
  /** The steps that the pages have taken, in order, such as `login u1`. */
  readonly calls: string[];
}

/** What an open interaction of a test is. */
interface FakeInteraction {
  readonly client?: Client;
  readonly redirectUri?: string;
  readonly loginHint?: string | undefined;
  readonly uiLocales?: readonly string[] | undefined;
}

/** The steps and the parts that a test can replace. */
export interface FakeSteps extends Partial<FlowParts> {
  readonly verifyPassword?: FlowSteps['verifyPassword'];
  readonly skipLogin?: () => Promise<string | undefined>;
  readonly currentUser?: () => Promise<User | undefined>;
  readonly loginUrl?: (path: string) => string;
  readonly authorizedApps?: () => AuthorizedApps;
}

/** A flow with two open interactions, `/oauth/interaction/login` and `/oauth/interaction/consent`. */
export function fakeFlow(
  change: {
    flow?: FakeSteps;
    login?: FakeInteraction;
    consent?: FakeInteraction & Partial<Omit<ConsentForm, 'kind' | 'client' | 'redirectUri'>>;
  } = {},
): FakeFlow {
  const {
    verifyPassword,
    skipLogin,
    currentUser = async () => ann,
    loginUrl,
    authorizedApps,
    ...parts
  } = change.flow ?? {};
  const { basePath = '' } = parts;
  const calls: string[] = [];
  const goTo = (step: string): string => {
    calls.push(step);
    return `${basePath}/oauth/authorize/${step.split(' ')[0]}`;
  };
  const made: FlowSteps = {
    checksPasswords: true,
    sessionIdOf: async () => undefined,
    userSessions: () => ({
      list: async () => ({ sessions: [], moreSessions: false }),
      end: async () => false,
      endOthers: async () => {},
    }),
    steps: {
      async open(_ctx, uid) {
        if (uid !== 'login' && uid !== 'consent') throw new InteractionExpiredError();
        return openInteraction(uid, change[uid]);
      },
      pathOf: (uid) => `${basePath}/oauth/interaction/${uid}`,
      skipLogin: async () => skipLogin?.(),
      login: async (_ctx, { uid }, user) => goTo(`login ${uid} ${user.id}`),
      describeConsent: async () => ({
        user: ann,
        resource: undefined,
        scopes: undefined,
        permissions: [],
        lifetime: 90 * 86_400,
        remembered: true,
        canSwitchUser: true,
        ...change.consent,
      }),
      consent: async (_ctx, { uid }, chosen) => goTo(['consent', uid, ...chosen].join(' ')),
      deny: async (_ctx, { uid }) => goTo(`deny ${uid}`),
      switchUser: async (_ctx, { uid }) => goTo(`switch ${uid}`),
    },
    verifyPassword:
      verifyPassword ??
      (async (_ctx, login, password) => {
        calls.push(`verifyPassword ${login}`);
        return login === ann.email && password === ' right, blanks and all ' ? ann : undefined;
      }),
    sessions: {
      currentUser,
      loginUrl:
        loginUrl ??
        ((path) => `${basePath}/oauth/login?${new URLSearchParams({ return_to: path }).toString()}`),
      pathHere: (path) => (/^\/(?![/\\])/.test(path) ? path : undefined),
      async logout() {
        calls.push('logout');
        return { hostSessionContinues: false };
      },
    },
    async logIn(_ctx, user) {
      calls.push(`logIn ${user.id}`);
    },
    userToSignOut: currentUser,
    logoutRequest: undefined,
    logger: recordingLogger(),
    findLogo: async () => undefined,
    authorizedApps:
      authorizedApps ??
      (() => ({
        list: async () => [],
        revoke: async () => false,
        revokeGrant: async () => false,
      })),
  };
  const site: FlowParts = {
    origin: 'https://platform.example',
    basePath,
    accountPath: undefined,
    sessionsPath: undefined,
    apis: new Map(),
    clientKinds: clientKindsOf([]),
    clientSources: clientSourcesOf([]),
    features: [],
    ...parts,
  };
  return { ...createFlow(site, made), calls };
}

function openInteraction(
  prompt: 'login' | 'consent',
  { client = reports, loginHint, redirectUri, uiLocales }: FakeInteraction = {},
): OpenInteraction {
  const parameters = {
    redirect_uri: redirectUri ?? 'https://reports.example/callback?from=gatehouse',
    ...(loginHint !== undefined && { login_hint: loginHint }),
    ...(uiLocales && { ui_locales: uiLocales.join(' ') }),
  };
  return {
    uid: prompt,
    request: { prompt, reasons: [], parameters },
    stored: { client, secrets: [], sequence: 0 },
    userId: undefined,
    sequence: undefined,
  };
}
