import {
  defineAction,
  devices as devicesFeature,
  openid as openidFeature,
  personalTokens as personalTokensFeature,
} from 'koa-gatehouse';
import type { AuthServer, InteractionFlow, Pages } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';
import type { Page } from 'playwright-core';
import { z } from 'zod';

import { makeKeyPair } from '../../harness/client-keys.ts';
import { CALLBACK, connect, documentOptions, serveDocument } from '../../agents/documents.ts';
import { gate, openDeveloperPlatform } from '../../developer/developers.ts';
import { beginOn } from '../../devices/device.ts';
import type { DeveloperPlatform, Member } from '../../developer/developers.ts';
import { authorizeUrl, runCodeFlow, signOut } from '../../harness/platform.ts';
import type { RegisteredApp } from '../../harness/platform.ts';
import { png } from '../../harness/pictures.ts';
import { ON_LOOPBACK } from '../../harness/public-server.ts';
import { idJag, present, trusting } from '../../trusted-issuers/identity-provider.ts';

/** The steps that lead to a page. */
type Steps = (page: Page, open: (path: string) => Promise<void>) => Promise<void>;

/** Every page of the package, by the signed-in user. */
export interface EveryPage extends AsyncDisposable {
  readonly platform: DeveloperPlatform;
  readonly steps: Readonly<Record<Member | 'signedOut', Readonly<Record<string, Steps>>>>;
}

const PEOPLE = {
  grantType: 'authorization_code',
  redirectUris: ['https://reports.example/callback'],
} as const;
const GOODBYE = `https://reports.example/${'a-long-path/'.repeat(8)}goodbye`;
const LOOPBACK = 'http://127.0.0.1/callback';
const LONG_NAME = `An app with a name of the greatest allowed length, which is ${'andon'.repeat(8)}`;

const LONG_HOMEPAGE = `https://${'reports-of-'.repeat(5)}schools.example/`;

/** Another API, without a name, and with a URL that does not fit on one line. */
const LIBRARY = 'https://library-of-all-schools.example/of-the-northern-and-southern-districts/v1';

/** Errors that need a broken link, client or server: all have the same layout, some with a link to try again. */
const ERRORS = [
  ['client_source_refused', 400],
  ['invalid_scope', 400],
  ['temporarily_unavailable', 503],
] as const;

/** An API with tools, of which some only read. */
const AGENTS = 'https://schools.example/mcp';
const TOOLS = (
  [
    ['List your schools', 'view_schools', true],
    ['Show a school with its pupils and teachers', 'view_schools', true],
    ['Rename a school', 'edit_schools', false],
    ['Create a school', 'edit_schools', false],
    ['Move a pupil to another school', 'edit_schools', false],
    ['Write a letter to all parents', 'edit_schools', false],
    ['Add a teacher', 'edit_schools', false],
    ['Change the timetable', 'edit_schools', false],
    ['Close a school for new pupils', 'close_schools', false],
  ] as const
).map(([title, permission, readOnly], index) =>
  defineAction({
    gate,
    type: 'school',
    name: `number-${index}-action`,
    level: 'collection',
    title,
    permission,
    readOnly,
    mcp: true,
    input: z.object({}),
    output: z.object({}),
    run: () => ({}),
  }),
);
const AGENT_SCOPES = 'schools:read schools:write schools:close';

/** Starts a platform in both languages, with data for every page. */
export async function startEveryPage(): Promise<EveryPage> {
  const storage = memoryStorage();
  const stack = new AsyncDisposableStack();
  const site = await serveDocument(stack, { client_name: LONG_NAME, redirect_uris: [CALLBACK, LOOPBACK] });
  const documents = documentOptions({ scopes: AGENT_SCOPES.split(' ') });
  const platform = await openDeveloperPlatform(
    stack,
    {
      ...documents,
      storage,
      interactions: (flow) => withErrorPages(acmePages(withOldLogins(flow))),
      resources: {
        [AGENTS]: {
          name: 'Acme schools for agents',
          scopes: {
            'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
            'schools:write': { description: 'Change your schools', permissions: ['edit_schools'] },
            'schools:close': {
              description: 'Close your schools for new pupils',
              permissions: ['close_schools'],
            },
          },
        },
        [LIBRARY]: {
          scopes: { 'books:read': { description: 'See the books that you have borrowed', permissions: [] } },
        },
      },
      scopes: {
        'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
        'schools:write': {
          description: 'Change your schools',
          permissions: ['edit_schools'],
          optional: true,
        },
        'letters:write': {
          description: 'Write letters to the parents of all pupils in your schools',
          permissions: [],
          optional: true,
        },
        'schools:close': { description: 'Close your schools', permissions: ['close_schools'] },
      },
      clients: { privateKeyJwt: true },
      features: [
        ...(documents.features ?? []),
        devicesFeature({ userCodes: { perUser: 1 } }),
        openidFeature({
          scopes: { groups: { description: 'See the groups that you are in', claims: ['groups'] } },
        }),
        personalTokensFeature({ perUser: 2 }),
        await trusting({ idp: { findUser: ({ sub }) => ({ id: sub }) } }),
      ],
      limits: {
        // The second wrong password exceeds the limit.
        attempts: { login: { perAccountAndAddress: 1 } },
      },
    },
    ON_LOOPBACK,
  );
  const { auth, registerFor } = platform;
  // The consent page names its tools.
  await createMcpEndpoint({
    auth: auth as unknown as AuthServer<typeof gate>,
    path: '/mcp',
    resource: AGENTS,
    actions: TOOLS,
  });
  for (const [name, token] of Object.entries({
    'Nightly import': { scopes: ['schools:read', 'letters:write'] },
    [LONG_NAME.replaceAll(' ', '')]: { scopes: ['books:read'], resource: LIBRARY },
  }))
    await auth.personalTokens.create({ userId: 'dora', name, lifetime: '30 days', ...token });
  const annsToken = { userId: 'ann', name: 'Timetable', lifetime: '30 days' } as const;
  await auth.personalTokens.create({ ...annsToken, scopes: ['schools:read'] });
  const reports = await registerFor('dora', {
    name: 'Reports',
    clientUri: LONG_HOMEPAGE,
    ...PEOPLE,
    postLogoutRedirectUris: [GOODBYE],
    backchannelLogoutUri: 'https://reports.example/logout',
  });
  const device = await registerFor('dora', {
    name: LONG_NAME,
    clientUri: LONG_HOMEPAGE,
    ...PEOPLE,
    redirectUris: ['com.example.reports:/callback'],
    confidential: false,
    native: true,
  });
  const service = await registerFor('dora', {
    roles: ['headmaster', 'reader'],
    permissions: ['edit_schools'],
  });
  const disabled = await registerFor('dora', { name: 'Old importer' });
  await auth.clients.disable(disabled.client.id);
  await auth.clients.addSecret(service.client.id, { label: 'production, May' });
  const [ec, rsa] = [await makeKeyPair('production, May'), await makeKeyPair('production, June', 'RS256')];
  await auth.clients.update(service.client.id, { keys: { jwks: { keys: [ec.publicJwk, rsa.publicJwk] } } });
  const atUri = await registerFor('dora', {
    name: 'Keys elsewhere',
    keys: { jwksUri: `https://keys.example/${'a-long-path/'.repeat(8)}jwks.json` },
  });
  for (const client_secret of [service.secret, 'wrong'])
    await platform.token({ grant_type: 'client_credentials', client_id: service.client.id, client_secret });
  await storage.audit.append(
    ['rename_school', 'a'.repeat(64)].map((tool, index) => ({
      type: 'tool_called',
      id: `call-${index}`,
      at: Date.now() / 1000,
      clientId: reports.client.id,
      userId: 'dora',
      tool,
      action: 'school/rename-school-action',
      resource: LIBRARY,
    })),
    Date.now() / 1000 + 3600,
  );
  for (const member of ['dora', 'ann'] as const) {
    const browser = await platform.signInAs(member);
    await runCodeFlow(platform, reports, { browser, parameters: { scope: 'schools:read' } });
    if (member === 'ann') continue;
    await runCodeFlow(platform, reports, { browser, parameters: { scope: 'books:read', resource: LIBRARY } });
    await runCodeFlow(platform, await registerFor('dora', { name: 'Everything', ...PEOPLE }), { browser });
  }
  const authorize = (app: RegisteredApp, scope: string, more: Record<string, string> = {}): string => {
    const pkce = {
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    };
    const { pathname, search } = authorizeUrl(platform, app, { scope, ...pkce, ...more });
    return pathname + search;
  };
  // Nothing listens where the app is told of the logout.
  const signedOut = await platform.signInAs('dora');
  await runCodeFlow(platform, reports, { browser: signedOut, parameters: { scope: 'openid groups' } });
  await signOut(platform, signedOut);
  const ofReports = { client_id: reports.client.id, post_logout_redirect_uri: GOODBYE };
  const logout = `/oauth/logout?${String(new URLSearchParams(ofReports))}`;
  await connect(platform, site.id, { browser: await platform.signInAs('dora') });
  const ofNobody = await platform.registerApp({
    name: 'Agent',
    confidential: false,
    native: true,
    redirectUris: [LOOPBACK],
  });
  await storage.clients.update({ ...ofNobody.client, source: 'dynamic', scopes: ['schools:read'] });
  const documentAt = (redirectUri: string, scope = 'schools:read', more = {}): string =>
    authorize({ client: { ...ofNobody.client, id: site.id }, secret: '', redirectUri }, scope, {
      prompt: 'consent',
      ...more,
    });
  const agentAt = (redirectUri: string): string =>
    documentAt(redirectUri, AGENT_SCOPES, { resource: AGENTS });
  const ofOrganization = await registerFor(undefined, { name: 'Letters of the district', ...PEOPLE });
  const presented = await present(
    platform,
    ofOrganization,
    await idJag(platform, ofOrganization, { sub: 'dora' }),
  );
  if (presented.status !== 200) throw new Error(`the assertion of the organization: ${presented.status}`);
  const withoutScopes = await registerFor(undefined, { name: 'Guest book', ...PEOPLE, scopes: [] });
  const ownFirstParty = await registerFor('dora', { name: 'Portal', ...PEOPLE, firstParty: true });
  const television = await registerFor('dora', {
    name: 'Television of the staff room',
    clientUri: LONG_HOMEPAGE,
    grantType: 'device_code',
    confidential: false,
  });
  const timetable = { name: 'Timetable', ...PEOPLE, redirectUris: ['https://timetable.example/callback'] };
  // The picture of the README.
  const plain = await registerFor(undefined, timetable);
  const withConsent = await registerFor(undefined, {
    ...timetable,
    clientUri: 'https://timetable.example',
  });
  for (const { client } of [reports, withConsent]) {
    await auth.clients.setLogo(client.id, png());
    await auth.clients.update(client.id, { verified: true });
  }
  return {
    platform,
    steps: {
      signedOut: {
        ...signingIn(authorize(reports, '')),
        'logout-signedOut': at('/oauth/logout'),
        'logout-back': at(logout),
        'error-redirect-uri': at(authorize({ ...reports, redirectUri: 'https://evil.example/' }, '')),
        'device-signedOut': at('/oauth/device'),
        ...Object.fromEntries(
          ERRORS.map(([code, status]) => [`error-${code}`, at(`/account/apps/error/${status}/${code}`)]),
        ),
      },
      dora: {
        consent: at(authorize(plain, 'schools:read')),
        'consent-verified': at(authorize(withConsent, 'schools:read')),
        'consent-nothing': at(authorize(withoutScopes, '')),
        'consent-api': at(authorize(withConsent, 'books:read', { resource: LIBRARY })),
        'consent-sign-in': at(authorize(withConsent, 'openid profile email groups')),
        'consent-sign-in-and-api': at(authorize(withConsent, 'openid email schools:read schools:write')),
        'consent-optional': at(authorize(withConsent, 'schools:read schools:write letters:write')),
        async 'consent-more'(page, open) {
          await open(authorize(reports, 'schools:read schools:close schools:write letters:write'));
          await page.locator('summary').click();
        },
        async 'consent-nothing-left'(page, open) {
          await open(authorize(withConsent, 'schools:write letters:write'));
          for (const box of await page.locator('fieldset input').all()) await box.uncheck();
          await submit(page, '#authorize');
        },
        'consent-device': at(authorize(device, 'schools:read')),
        'consent-document': at(documentAt(CALLBACK)),
        'consent-document-device': at(documentAt(LOOPBACK)),
        'consent-dynamic': at(authorize(ofNobody, 'schools:read')),
        'consent-everything': at(authorize(withConsent, '')),
        'consent-everything-api': at(authorize(withConsent, '', { resource: LIBRARY })),
        'consent-agent': at(agentAt(CALLBACK)),
        async 'consent-agent-look'(page, open) {
          await open(agentAt(LOOPBACK));
          await page.locator('#access-look').check();
        },
        async 'consent-agent-choose'(page, open) {
          await open(agentAt(LOOPBACK));
          await page.locator('#access-choose').check();
          await page.locator('.tools-of summary').first().click();
        },
        'consent-agent-registered': at(authorize(withConsent, AGENT_SCOPES, { resource: AGENTS })),
        async post(page, open) {
          // It would leave the page.
          await page.route('**/post.js', (route) =>
            route.fulfill({ body: '', contentType: 'text/javascript' }),
          );
          await open(authorize(reports, 'schools:read', { response_mode: 'form_post' }));
          await page.locator('#response').waitFor({ state: 'attached' });
        },
        ...devices(platform, television),
        ...appsOfDora({ service, reports, device, disabled, atUri, firstParty: ownFirstParty, television }),
        'tokens-many': at('/account/tokens?done=revoked'),
        'authorized-apps': at('/account/apps?done=client_revoked'),
        'authorized-apps-found': at('/account/apps?search=e'),
        'authorized-apps-none-found': at('/account/apps?search=zebra'),
        disconnect: at(`/account/apps/${reports.client.id}/revoke`),
        sessions: at('/account/sessions?done=ended'),
        logout: at('/oauth/logout'),
        'logout-of-app': at(logout),
        'error-logout': at(`${logout}.evil`),
        async 'signed-out-in-a-form'(page, open) {
          await open(`/developer/apps/${service.client.id}/settings`);
          await page.context().clearCookies();
          await submit(page, 'form.sheet');
        },
      },
      emil: {
        'list-empty': at('/developer/apps'),
        'authorized-apps-none': at('/account/apps'),
        'tokens-none': at('/account/tokens'),
        'token-login-elsewhere': at('/account/tokens/new'),
        async 'token-login-too-old'(page, open) {
          await open('/account/tokens/new?fresh');
          await submit(page, 'form.sheet');
        },
      },
      root: {
        'list-all': at('/developer/apps'),
        'new-first-party': at('/developer/apps/new'),
        'tokens-not-allowed': at('/account/tokens'),
        'overview-of-others': at(`/developer/apps/${reports.client.id}`),
        'settings-of-others': at(`/developer/apps/${reports.client.id}/settings`),
        'overview-document': at(`/developer/apps/${encodeURIComponent(site.id)}`),
        'settings-document': at(`/developer/apps/${encodeURIComponent(site.id)}/settings`),
        'overview-dynamic': at(`/developer/apps/${ofNobody.client.id}`),
        'settings-dynamic': at(`/developer/apps/${ofNobody.client.id}/settings`),
      },
      ann: {
        'tokens-one': at('/account/tokens'),
        'token-new': at('/account/tokens/new'),
        async 'token-new-wrong'(page, open) {
          await open('/account/tokens/new');
          await submit(page, 'form.sheet');
          await page.locator('#name-problem').waitFor();
        },
        async 'token-new-wrong-end'(page, open) {
          await open('/account/tokens/new');
          await page
            .locator('option')
            .first()
            .evaluate((option) => option.setAttribute('value', '9999'));
          await page.locator('select').selectOption('9999');
          await submit(page, 'form.sheet');
          await page.locator('#lifetime-problem').waitFor();
        },
        async 'token-created'(page, open) {
          await open('/account/tokens/new');
          await page.locator('#name').fill('Import');
          await page.getByRole('checkbox').first().check();
          await submit(page, 'form.sheet');
          await page.locator('#token-copy').click();
          await page.locator('.copied:not(:empty)').waitFor();
        },
        'token-login': at('/oauth/login?prompt=login&return_to=/account/tokens'),
        'authorized-apps-one': at('/account/apps'),
        'not-permitted': at('/developer/apps'),
        async 'logout-done'(page, open) {
          await open('/oauth/logout');
          await submit(page, 'main form');
        },
      },
    },
    [Symbol.asyncDispose]: async () => stack.disposeAsync(),
  };
}

const acmePages = pages({
  brand: { name: 'Acme Schools', terms: '/terms', privacy: '/privacy' },
  language: ['en', 'de'],
});

/**
 * The flow in which Emil has logged in at the host, a long time ago unless the address says otherwise, and an administrator would have to
 * allow Root to have personal access tokens.
 */
function withOldLogins(flow: InteractionFlow): InteractionFlow {
  return {
    ...flow,
    loginUrl: (returnTo, again) =>
      again && returnTo.includes('/tokens/new')
        ? 'https://host.example/login'
        : flow.loginUrl(returnTo, again),
  };
}

/** Pages that show an error at `/account/apps/error/{status}/{code}`. */
function withErrorPages(made: Pages): Pages {
  return {
    ...made,
    async middleware(ctx, next) {
      const [, status, code] = /^\/account\/apps\/error\/(\d+)\/(\w+)$/.exec(ctx.path) ?? [];
      if (code === undefined) return made.middleware(ctx, next);
      return made.error(ctx, {
        status: Number(status),
        error: code,
        description: 'what went wrong, for a developer',
        reference: '5f0c7c1e-57c5-4a52-9d2f-0d5f0e3b8f10',
      });
    },
  };
}

function at(path: string): Steps {
  return async (_page, open) => open(path);
}

/** Submits a form and waits for the response. */
async function submit(page: Page, form: string): Promise<void> {
  await Promise.all([page.waitForNavigation(), page.locator(form).locator('button').last().click()]);
}

/** The login page in each state, for a client and for the pages of this server. */
function signingIn(authorize: string): Record<string, Steps> {
  const submitWrong = async (page: Page, open: (path: string) => Promise<void>): Promise<void> => {
    await open(authorize);
    await page.locator('#login').fill('zoe@school.example');
    await page.locator('#password').fill('wrong');
    await submit(page, 'main form');
  };
  return {
    'sign-in': at('/developer/apps'),
    login: at(authorize),
    async 'login-missing'(page, open) {
      await open(authorize);
      await submit(page, 'main form');
    },
    'login-refused': submitWrong,
    'login-throttled': submitWrong,
  };
}

/** Enters a code that nobody has. */
const enterWrong: Steps = async (page, open) => {
  await open('/oauth/device?user_code=ZZZZ-ZZZZ');
  await submit(page, 'main form');
};

/** The pages for the code of a device, in each state. */
function devices(platform: DeveloperPlatform, television: RegisteredApp): Record<string, Steps> {
  const enter = async (
    page: Page,
    open: (path: string) => Promise<void>,
    parameters: Record<string, string>,
  ): Promise<void> => {
    const { user_code: code } = await beginOn(platform, television, parameters);
    await open(`/oauth/device?user_code=${code}`);
    await submit(page, 'main form');
  };
  return {
    device: at('/oauth/device'),
    'device-filled-in': at('/oauth/device?user_code=WDJB-MJHT'),
    'device-request': async (page, open) =>
      enter(page, open, { scope: 'schools:read schools:write letters:write' }),
    'device-request-everything': async (page, open) => enter(page, open, {}),
    'device-request-agent': async (page, open) =>
      enter(page, open, { scope: AGENT_SCOPES, resource: AGENTS }),
    'device-request-api': async (page, open) => enter(page, open, { scope: 'books:read', resource: LIBRARY }),
    async 'device-nothing-left'(page, open) {
      await enter(page, open, { scope: 'schools:write letters:write' });
      for (const box of await page.locator('fieldset input').all()) await box.uncheck();
      await submit(page, '#authorize');
    },
    async 'device-approved'(page, open) {
      await enter(page, open, { scope: 'schools:read' });
      await submit(page, '#authorize');
    },
    'device-denied': at('/oauth/device?done=denied'),
    'device-unknown': enterWrong,
    'device-throttled': enterWrong,
  };
}

/** The developer area of a user with apps of every kind. */
function appsOfDora(
  apps: Record<
    'service' | 'reports' | 'device' | 'disabled' | 'atUri' | 'firstParty' | 'television',
    RegisteredApp
  >,
): Record<string, Steps> {
  const pathOf = (app: keyof typeof apps, tab = ''): string => `/developer/apps/${apps[app].client.id}${tab}`;
  const secrets = pathOf('service', '/secrets');
  return {
    list: at('/developer/apps?done=createdBefore'),
    'list-none-found': at('/developer/apps?search=nothing'),
    new: at('/developer/apps/new'),
    async 'new-refused'(page, open) {
      await open('/developer/apps/new');
      await page.locator('#redirectUris').fill('/callback\nhttps://weekly.example/#fragment');
      await submit(page, 'form.sheet');
    },
    async created(page, open) {
      await open('/developer/apps/new');
      await page.locator('#name').fill('Weekly report');
      await page.locator('#redirectUris').fill('https://weekly.example/callback');
      await submit(page, 'form.sheet');
      await page.locator('#secret-copy').click();
      await page.locator('.copied:not(:empty)').waitFor();
    },
    'overview-service': at(pathOf('service')),
    async 'overview-people'(page, open) {
      await open(pathOf('reports'));
      for (const name of ['Numbers by day', 'Zahlen nach Tagen', 'Auth.js'])
        for (const summary of await page.getByText(name, { exact: true }).all()) await summary.click();
    },
    'overview-device': at(`${pathOf('device')}?done=created`),
    'overview-device-code': at(pathOf('television')),
    'overview-disabled': at(pathOf('disabled')),
    'settings-service': at(pathOf('service', '/settings?done=saved')),
    'settings-people': at(pathOf('reports', '/settings')),
    'settings-device': at(pathOf('device', '/settings')),
    'settings-device-code': at(pathOf('television', '/settings')),
    'permissions-device-code': at(pathOf('television', '/permissions')),
    'settings-disabled': at(pathOf('disabled', '/settings')),
    'settings-first-party': at(pathOf('firstParty', '/settings')),
    async 'settings-refused'(page, open) {
      await open(pathOf('reports', '/settings'));
      await page.locator('#name').fill('');
      await page.locator('#redirectUris').fill('https://*.reports.example/callback');
      await submit(page, 'form.sheet');
    },
    permissions: at(pathOf('service', '/permissions')),
    scopes: at(pathOf('reports', '/permissions')),
    secrets: at(secrets),
    'secrets-public': at(pathOf('device', '/secrets')),
    async 'secrets-refused'(page, open) {
      await open(secrets);
      await page.locator('#label').fill('x'.repeat(101));
      await submit(page, 'form.sheet');
    },
    async 'secret-new'(page, open) {
      await open(secrets);
      await submit(page, 'form.sheet');
      await page.locator('#secret').waitFor();
    },
    keys: at(`${pathOf('service', '/keys')}?done=saved`),
    'keys-none': at(pathOf('reports', '/keys')),
    'keys-at-uri': at(pathOf('atUri', '/keys')),
    async 'keys-refused'(page, open) {
      await open(pathOf('service', '/keys'));
      await page.locator('#jwks').fill('{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}');
      await submit(page, 'form.sheet');
    },
    'keys-remove': at(pathOf('service', '/keys/remove')),
    'secrets-none-but-keys': at(pathOf('atUri', '/secrets')),
    activity: at(pathOf('service', '/activity')),
    async 'activity-of-a-person'(page, open) {
      await open(pathOf('reports', '/activity?kind=tokens&user=dora'));
      await page.locator('summary').first().click();
    },
    'activity-none': at(pathOf('device', '/activity')),
    revoke: at(pathOf('service', '/revoke')),
    disable: at(pathOf('service', '/disable')),
    delete: at(pathOf('reports', '/delete')),
    'not-found': at('/developer/apps/nothing'),
  };
}
