// What a database with a synchronous standby says of a change is tested with the storage; here what each way to end something asks it.
import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { agents, createAdministration, devices, personalTokens } from 'koa-gatehouse';
import type { InteractionFlow } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

import { PATHS } from '../../lib/engine/endpoints.ts';
import { startDeveloperPlatform } from '../developer/developers.ts';
import { passTime } from '../harness/clock.ts';
import { recordingLogger } from '../harness/platform.ts';
import { until } from '../harness/until.ts';
import { shared } from '../harness/shared.ts';
import { startPlace, WAYS_OF_ALL } from './all.ts';
import { clientWays } from './clients.ts';
import { grantWays } from './grants.ts';
import { unconfirmed } from './way.ts';
import type { Way } from './way.ts';

const { state, storage } = unconfirmed(memoryStorage());
const forms: string[] = [];
const started = shared(async (stack) => {
  const platform = stack.use(
    await startDeveloperPlatform({
      storage,
      features: [devices(), personalTokens(), agents({ documents: false, registration: { scopes: [] } })],
      clients: { privateKeyJwt: true },
      openid: { algorithm: 'ES256' },
      interactions(flow: InteractionFlow) {
        const made = pages()(flow);
        const { router } = made.middleware as unknown as { readonly router: Router };
        for (const { methods, path } of router.stack)
          if (methods.includes('POST')) forms.push(`POST ${path}`);
        return made;
      },
    }),
  );
  const administered = await operator.featureMembers(personalTokens());
  const ways = { ...grantWays(platform, operator), ...clientWays(platform, operator) };
  return { platform, administered, ways };
});

const operator = createAdministration({ storage, logger: recordingLogger() });

/** Of koa-router. */
interface Router {
  readonly stack: readonly { readonly methods: readonly string[]; readonly path: string }[];
}

// Longer than `tokens.revocationLag`, for what an administration ends.
const LAG = 6;

async function assertAnswersAreSure(
  t: ExecutionContext,
  lost: { isLost: boolean },
  made: readonly (readonly [name: string, way: Way])[],
): Promise<void> {
  const outcomes = async (ask: (way: Way) => Promise<unknown>) => {
    const found: [string, unknown][] = [];
    for (const [name, way] of made) found.push([name, await ask(way)]);
    return new Map(found);
  };
  const each = (value: unknown) => new Map(made.map(([name]) => [name, value]));
  t.deepEqual(await outcomes(async ({ works }) => works()), each(true), 'what is ended works before');
  lost.isLost = true;
  for (const round of ['first', 'second', 'third'])
    t.deepEqual(await outcomes(async ({ end }) => end()), each('unknown'), `the ${round} time`);
  lost.isLost = false;
  t.deepEqual(await outcomes(async ({ end }) => end()), each('answered'), 'when changes last again');
  passTime(LAG);
  for (const [name, { works }] of made) {
    await until(async () => !(await works()));
    t.pass(`${name}: what it has ended works no more`);
  }
}

test.serial(
  'an end that is repeated is answered only when it is known to last, in every way to end one thing',
  async (t) => {
    const { ways } = await started();
    const made: (readonly [string, Way])[] = [];
    for (const [name, make] of Object.entries(ways)) made.push([name, await make()]);
    await assertAnswersAreSure(t, state, made);
  },
);

test.serial('so is one of everything, of a user, of keys and of assignments', async (t) => {
  for (const [name, make] of Object.entries(WAYS_OF_ALL)) {
    const place = await startPlace();
    await using _running = place.platform;
    await assertAnswersAreSure(t, place.state, [[name, await make(place)]]);
  }
});

/** What is public and ends nothing that works: it reads, adds, or answers requests; what `auth.developer()` returns ends what its forms do. */
const ENDS_NOTHING = {
  auth: `assignments.find audit authenticate callback clients.addSecret clients.create clients.enable clients.find clients.list clients.secrets
    clients.setLogo close developer devices.approve devices.find doctor events featureMembers guard health issueToken middleware observe personalTokens.create
    personalTokens.list prune ready requires signingKeys.list signingKeys.rotate userData.export userGrants.list`,
  administration: `audit clients.addSecret clients.create clients.enable clients.find clients.list clients.secrets clients.setLogo close doctor
    featureMembers importClient personalTokens.create personalTokens.list prune signingKeys.encrypt signingKeys.list signingKeys.rotate userData.export`,
};

/** Forms that end nothing. */
const OTHER_FORMS = new Set([
  '/oauth/interaction/:uid/login',
  '/oauth/interaction/:uid/consent',
  '/oauth/interaction/:uid/deny',
  '/oauth/interaction/:uid/switch',
  '/oauth/login',
  '/oauth/device',
  '/oauth/device/approve',
  '/developer/apps/new',
  '/developer/apps/:id/settings',
  '/developer/apps/:id/logo',
  '/developer/apps/:id/logo/remove',
  '/developer/apps/:id/permissions',
  '/developer/apps/:id/secrets',
  '/developer/apps/:id/keys',
  '/developer/apps/:id/enable',
  '/account/tokens/new',
]);

test('every public way to end something is among them', async (t) => {
  const { ways, platform, administered } = await started();
  const tested = Object.keys({ ...ways, ...WAYS_OF_ALL }).map((name) => name.split(/ of | with |, /)[0]!);
  const {
    gate: _gate,
    // No declaration has it.
    parts: _parts,
    provider: _provider,
    scopes: _scopes,
    ...auth
  } = Object.getOwnPropertyDescriptors(platform.auth);
  const members = [
    ...othersOf('auth', auth),
    ...othersOf('administration', Object.getOwnPropertyDescriptors({ ...operator, ...administered })),
  ];
  const ending = forms.filter((form) => !OTHER_FORMS.has(form.replace('POST ', '')));
  const atEndpoints = ['DELETE /oauth/register/:id', 'GET /oauth/logout', 'POST /oauth/revoke'];
  t.deepEqual(
    [...new Set(tested)].toSorted(),
    [...members, ...new Set(ending), ...atEndpoints].toSorted(),
    'add a new way to end something to the ways above; what ends nothing, to ENDS_NOTHING or OTHER_FORMS',
  );
  t.deepEqual(
    Object.values(PATHS).filter((path) => !OTHER_ENDPOINTS.has(path)),
    ['/oauth/revoke', '/oauth/logout'],
    'add the endpoint to OTHER_ENDPOINTS below, or its request to the ways above if it ends something',
  );
});

/** Endpoints at which nothing is ended but by the forms of their pages. */
const OTHER_ENDPOINTS: ReadonlySet<string> = new Set([
  '/oauth/authorize',
  '/oauth/token',
  '/oauth/introspect',
  '/oauth/jwks',
  '/oauth/userinfo',
  '/oauth/interaction',
  '/oauth/login',
  '/oauth/device_authorization',
  '/oauth/device',
]);

/** The functions of an object that are not in {@link ENDS_NOTHING}. */
function othersOf(prefix: keyof typeof ENDS_NOTHING, members: Record<string, PropertyDescriptor>): string[] {
  const known = ENDS_NOTHING[prefix].split(/\s+/);
  const others = functionsOf('', members).filter(
    (name) => !known.some((one) => name === one || name.startsWith(`${one}.`)) && !INTERNAL.has(name),
  );
  return others.map((name) => `${prefix}.${name}`);
}

// What pages call, whose forms are tested. The public types do not have the first two.
const INTERNAL = new Set([
  'clients.setDisabled',
  'personalTokens.revokeOfUser',
  'devices.deny',
  'devices.page',
]);

function functionsOf(prefix: string, members: Record<string, PropertyDescriptor>): string[] {
  return Object.entries(members).flatMap(([name, member]): string[] => {
    const value: unknown = member.get ? member.get() : member.value;
    if (typeof value === 'function') return [prefix + name];
    const isObject = typeof value === 'object' && value !== null;
    return isObject ? functionsOf(`${prefix}${name}.`, Object.getOwnPropertyDescriptors(value)) : [];
  });
}
