/**
 * Undocumented behaviour of oidc-provider that this package relies on. Each test runs the engine alone, so that its title names
 * the behaviour that a new version of the engine changes.
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import { IncomingMessage } from 'node:http';

import test from 'ava';
import { compactVerify, exportJWK, generateKeyPair } from 'jose';
import Keygrip from 'keygrip';
import Koa from 'koa';
import type { Context } from 'koa';
import compose from 'koa-compose';
import Provider, { ExternalSigningKey, interactionPolicy } from 'oidc-provider';
import type { Adapter, AdapterPayload, Configuration } from 'oidc-provider';

import { listenerOf } from '../harness/platform.ts';
import { serve } from '../harness/serve.ts';

const SIGNING_KEY = {
  ...(await exportJWK((await generateKeyPair('RS256', { extractable: true })).privateKey)),
  use: 'sig',
};

const COOKIE_KEYS = new Keygrip(['k'.repeat(32)]);

interface EngineAlone extends AsyncDisposable {
  readonly provider: Provider;
  readonly origin: string;
  /** The models of which something was looked up. */
  readonly found: readonly string[];
  readonly get: (path: string, cookie?: string) => Promise<Response>;
  readonly token: (
    parameters: Record<string, string>,
  ) => Promise<{ status: number; body: Record<string, unknown> }>;
}

const CLIENT = {
  client_id: 'client',
  client_secret: 'secret',
  redirect_uris: ['https://client.example/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code' as const],
};

/** The engine with a Map as storage, and a policy without consent. */
async function startEngine(
  change: () => Configuration = () => ({}),
  wrap: (provider: Provider) => Koa.Middleware = (provider) => async (ctx) => run(provider, ctx),
): Promise<EngineAlone> {
  const found: string[] = [];
  const rows = new Map<string, AdapterPayload>();
  const policy = interactionPolicy.base();
  policy.get('consent')!.checks.clear();
  let provider!: Provider;
  const server = await serve((issuer) => {
    provider = new Provider(issuer, {
      clients: [CLIENT],
      cookies: { keys: ['k'.repeat(32)] },
      jwks: { keys: [SIGNING_KEY] },
      adapter: (model: string): Adapter => ({
        upsert: async (id, payload) => void rows.set(`${model} ${id}`, structuredClone(payload)),
        async find(id) {
          found.push(model);
          return rows.get(`${model} ${id}`);
        },
        findByUid: async () => undefined,
        findByUserCode: async () => undefined,
        consume: async (id) => void (rows.get(`${model} ${id}`)!.consumed = true),
        destroy: async (id) => void rows.delete(`${model} ${id}`),
        revokeByGrantId: async () => {},
      }),
      features: { devInteractions: { enabled: false } },
      pkce: { required: () => false },
      expiresWithSession: async () => false,
      findAccount: async (_ctx, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
      interactions: { policy, url: async () => '/page' },
      async loadExistingGrant(ctx) {
        const grant = new ctx.oidc.provider.Grant({ accountId: 'ann', clientId: 'client' });
        grant.addOIDCScope('openid');
        await grant.save();
        return grant;
      },
      ...change(),
    });
    return listenerOf(new Koa().use(wrap(provider)));
  });
  const { origin } = server;
  return {
    provider,
    origin,
    found,
    get: async (path, cookie = '') => fetch(origin + path, { redirect: 'manual', headers: { cookie } }),
    async token(parameters) {
      const response = await fetch(`${origin}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa('client:secret')}` },
        body: new URLSearchParams(parameters),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  };
}

/** Runs the engine on a context of its own, as this package does, by default for the request of the app's context. */
async function run(
  provider: Provider,
  ctx: Context,
  change: (context: Context) => Context = (context) => context,
  request: IncomingMessage = ctx.req,
): Promise<void> {
  const context = provider.createContext(request, ctx.res);
  await compose([...provider.middleware])(change(context), async () => {});
  ctx.status = context.status;
  ctx.body = context.body;
}

/** The session cookie of a signed-in user, made with the models of the engine. */
async function logIn({ provider }: EngineAlone): Promise<string> {
  const session = new provider.Session();
  session.loginAccount({ accountId: 'ann' });
  await session.save(3600);
  const name = provider.cookieName('session');
  return `${name}=${session.jti}; ${name}.sig=${COOKIE_KEYS.sign(`${name}=${session.jti}`)}`;
}

const PARAMETERS = {
  client_id: 'client',
  response_type: 'code',
  redirect_uri: CLIENT.redirect_uris[0]!,
  scope: 'openid',
};

const AUTHORIZE = authorizePath({});

function authorizePath(changed: Partial<typeof PARAMETERS>): string {
  return `/auth?${new URLSearchParams({ ...PARAMETERS, ...changed }).toString()}`;
}

/** The parameters of a code exchange, without the code. */
const EXCHANGE = { grant_type: 'authorization_code', redirect_uri: CLIENT.redirect_uris[0]! };

async function codeOf(engine: EngineAlone, changed: Partial<typeof PARAMETERS> = {}): Promise<string> {
  const { headers } = await engine.get(authorizePath(changed), await logIn(engine));
  return new URL(headers.get('location')!).searchParams.get('code')!;
}

test('a form is read by the iterator of a readable request, which need not be a stream', async (t) => {
  const read: string[] = [];
  const bytes = Buffer.from('grant_type=nonsense');
  await using engine = await startEngine(undefined, (provider) => async (ctx) => {
    const { headers, method, socket, url } = ctx.req;
    const form = new Proxy(
      {
        method,
        url,
        socket,
        headers: { ...headers, 'content-length': String(bytes.length) },
        readable: true,
        readableEncoding: null,
        iterator: () => [bytes],
      } as unknown as typeof ctx.req,
      {
        get(target, name) {
          read.push(String(name));
          return Reflect.get(target, name) as unknown;
        },
      },
    );
    await run(provider, ctx, (context) => {
      context.req = context.request.req = context.response.req = form;
      return context;
    });
  });
  const { status, body } = await engine.token({ grant_type: 'authorization_code', code: 'of the original' });
  t.deepEqual([status, body['error']], [400, 'unsupported_grant_type']);
  const known =
    '_parsedUrl method url socket headers readable readableEncoding iterator httpVersionMajor originalUrl'.split(
      ' ',
    );
  t.deepEqual(
    [...new Set(read)].filter((name) => !known.includes(name)),
    [],
  );
});

test('the context of a request may be a proxy, on which `oidc` is defined once, by a getter', async (t) => {
  const defined: PropertyKey[] = [];
  const handler: ProxyHandler<Context> = {
    defineProperty(target, name, descriptor) {
      if (descriptor.get) defined.push(name);
      return Reflect.defineProperty(target, name, descriptor);
    },
    set: (target, name, value) => Reflect.set(target, name, value),
  };
  await using engine = await startEngine(
    undefined,
    (provider) => async (ctx) => run(provider, ctx, (context) => new Proxy(context, handler)),
  );
  t.is((await engine.token({ grant_type: 'refresh_token', refresh_token: 'unknown' })).status, 400);
  t.deepEqual(defined, ['oidc']);
});

test('a grant with the scope " " passes the check for an empty scope', async (t) => {
  for (const [scope, given] of [
    ['', 'access_denied'],
    [' ', undefined],
  ] as const) {
    await using engine = await startEngine(() => ({
      async loadExistingGrant(ctx) {
        const grant = new ctx.oidc.provider.Grant({ accountId: 'ann', clientId: 'client' });
        await grant.save();
        grant.getOIDCScopeFiltered = () => scope;
        return grant;
      },
    }));
    const { headers } = await engine.get(AUTHORIZE, await logIn(engine));
    const { searchParams } = new URL(headers.get('location')!);
    t.is(searchParams.get('error') ?? undefined, given, `a scope of "${scope}"`);
  }
});

test('a changed session that cannot be saved is saved once more, and then the middleware throws the error', async (t) => {
  let thrown: unknown;
  await using engine = await startEngine(undefined, (provider) => async (ctx) => {
    await run(provider, ctx).catch((error: unknown) => {
      thrown = error;
    });
  });
  const cookie = await logIn(engine);
  let times = 0;
  engine.provider.Session.prototype.save = async () => {
    times += 1;
    throw new Error('not saved');
  };
  await engine.get(AUTHORIZE, cookie);
  t.is(times, 2);
  t.is((thrown as Error | undefined)?.message, 'not saved');
});

test('a scope that getResourceServerInfo() sets in the parameters is the requested scope', async (t) => {
  await using engine = await startEngine(() => ({
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'https://api.example',
        getResourceServerInfo: (ctx) => {
          ctx.oidc.params!['scope'] = 'read';
          return { scope: 'read write' };
        },
      },
    },
    clients: [{ ...CLIENT, grant_types: [...CLIENT.grant_types, 'client_credentials'] }],
    async loadExistingGrant(ctx) {
      const grant = new ctx.oidc.provider.Grant({ accountId: 'ann', clientId: 'client' });
      grant.addResourceScope('https://api.example', 'read write');
      await grant.save();
      return grant;
    },
  }));
  t.is((await engine.token({ grant_type: 'client_credentials' })).body['scope'], 'read');
  const { body } = await engine.token({ ...EXCHANGE, code: await codeOf(engine, { scope: '' }) });
  t.is(body['scope'], 'read');
});

test('an error is not redirected when a listener sets allow_redirect to false', async (t) => {
  await using engine = await startEngine();
  const request = `${AUTHORIZE}&max_age=no-number`;
  t.is((await engine.get(request)).status, 303);
  engine.provider.on('authorization.error', (_ctx, error) => {
    error.allow_redirect = false;
  });
  const { headers, status } = await engine.get(request);
  t.deepEqual([status, headers.get('location')], [400, null]);
});

test('client secrets are compared by a method of the prototype, which may be asynchronous', async (t) => {
  await using engine = await startEngine();
  const presented: string[] = [];
  engine.provider.Client.prototype.compareClientSecret = async (secret: string) => {
    presented.push(secret);
    return false;
  };
  const { status } = await engine.token({ grant_type: 'authorization_code', code: 'x' });
  t.is(status, 401);
  t.deepEqual(presented, ['secret']);
});

test('clients are looked up by a static method that can be replaced', async (t) => {
  await using engine = await startEngine();
  const asked: unknown[] = [];
  const find = engine.provider.Client.find.bind(engine.provider.Client);
  engine.provider.Client.find = async (id) => {
    asked.push(id);
    return find(id);
  };
  await engine.token({ grant_type: 'authorization_code', code: 'x' });
  await engine.get(AUTHORIZE);
  t.deepEqual([...new Set(asked)], ['client']);
});

test('URLs are built by a method of the context that can be replaced', async (t) => {
  await using engine = await startEngine();
  engine.provider.OIDCContext.prototype.urlFor = (name: string) => `https://issuer.example/${name}`;
  const metadata = (await (await engine.get('/.well-known/openid-configuration')).json()) as Record<
    string,
    string
  >;
  t.is(metadata['token_endpoint'], 'https://issuer.example/token');
});

test('cookies are Secure by a property of the request that can be defined', async (t) => {
  await using engine = await startEngine();
  Object.defineProperty(engine.provider.request, 'secure', { value: true });
  const { headers } = await engine.get(`${AUTHORIZE}&prompt=login`, await logIn(engine));
  t.true(headers.getSetCookie().length > 0);
});

test('the engine reads a form from an IncomingMessage that was constructed', async (t) => {
  await using engine = await startEngine(undefined, (provider) => async (ctx) => {
    const bytes = Buffer.from('grant_type=authorization_code&code=x');
    const request = Object.assign(new IncomingMessage(ctx.req.socket), {
      method: 'POST',
      url: '/token',
      complete: true,
    });
    request.headers = {
      authorization: `Basic ${btoa('client:secret')}`,
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(bytes.length),
    };
    request.push(bytes);
    request.push(null);
    ctx.req.resume();
    await run(provider, ctx, undefined, request);
  });
  const response = await fetch(`${engine.origin}/json`, { method: 'POST', body: '{}' });
  const body = (await response.json()) as Record<string, unknown>;
  t.is(body['error'], 'invalid_grant', JSON.stringify(body));
  t.true(engine.found.includes('AuthorizationCode'), 'the engine has read the code in the form');
});

test('a key that signs by itself signs access tokens, and its public part is published', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signed: string[] = [];
  class OwnKey extends ExternalSigningKey {
    override get kid() {
      return 'own';
    }
    override get alg() {
      return 'ES256';
    }
    override keyObject() {
      return publicKey;
    }
    override async sign(data: Uint8Array) {
      signed.push(Buffer.from(data).toString());
      return sign('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' });
    }
  }
  await using engine = await startEngine(() => ({
    jwks: { keys: [new OwnKey()] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    features: {
      clientCredentials: { enabled: true },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
    },
  }));
  const { provider } = engine;
  const resourceServer = new provider.ResourceServer('urn:api', {
    scope: '',
    audience: 'urn:api',
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'ES256' } },
  });
  const client = (await provider.Client.find('client'))!;
  const token = await new provider.ClientCredentials({ client, resourceServer }).save();

  t.deepEqual(signed, [token.split('.').slice(0, 2).join('.')]);
  t.true(await compactVerify(token, publicKey).then(() => true));
  const { keys } = (await (await engine.get('/jwks')).json()) as { keys: Record<string, unknown>[] };
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  t.deepEqual(keys, [{ kty, crv, x, y, kid: 'own', alg: 'ES256', use: 'sig' }]);
});
