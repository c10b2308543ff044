import test from '../../harness/test.ts';
import type { Context, Middleware } from 'koa';
import { koaBody } from 'koa-body';

import { hostApp } from '../../embedding/host.ts';
import { startPlatform } from '../../harness/platform.ts';
import { postForm, postJson } from '../../harness/requests.ts';
import { asClient } from '../../harness/tokens.ts';

const warnings: string[] = [];
const { warn } = console;
console.warn = (...parts: unknown[]) => {
  warnings.push(parts.join(' '));
};
test.after.always(() => {
  console.warn = warn;
});

interface HostRequest {
  readonly body?: unknown;
  readonly headers: Context['headers'];
}

/** What the host finds on its request after the server has answered. */
function keepRequests(kept: HostRequest[]): Middleware {
  return async ({ req }, next) => {
    const { body, headers }: HostRequest = req;
    kept.push({ body, headers: { ...headers } });
    await next();
    const after: HostRequest = req;
    kept.push({ body: after.body, headers: { ...after.headers } });
  };
}

for (const [place, parser] of [
  ['without a body parser', []],
  ['behind a body parser that sets the body of the Node request', [koaBody({ patchNode: true })]],
] as const) {
  test.serial(
    `signed tokens are introspected and revoked, and the request stays the host's: ${place}`,
    async (t) => {
      const kept: HostRequest[] = [];
      await using platform = await startPlatform(
        {},
        { app: hostApp({ front: [...parser, keepRequests(kept)] }) },
      );
      const client = asClient(await platform.registerService());
      for (const post of [postForm, postJson]) {
        const issued = await post(platform.url('/oauth/token'), {
          grant_type: 'client_credentials',
          ...client,
        });
        const sent = { ...client, token: String(issued.body!['access_token']) };
        t.is(sent.token.split('.').length, 3);
        t.like(await post(platform.url('/oauth/introspect'), sent), { status: 200, body: { active: true } });
        t.like(await post(platform.url('/oauth/revoke'), sent), { status: 200, body: {} });
        t.deepEqual((await post(platform.url('/oauth/introspect'), sent)).body, { active: false });
      }
      t.is(kept.length, 16);
      for (let at = 0; at < kept.length; at += 2) t.deepEqual(kept[at + 1], kept[at]);
    },
  );
}

test.serial(
  "a public client's header field, which the engine does not get, is on the host's request again",
  async (t) => {
    const kept: HostRequest[] = [];
    await using platform = await startPlatform({}, { app: hostApp({ front: [keepRequests(kept)] }) });
    const { client } = await platform.registerApp({ confidential: false });
    const authorization = `Basic ${btoa(`${client.id}:`)}`;
    const refused = await postForm(
      platform.url('/oauth/token'),
      { grant_type: 'refresh_token', refresh_token: 'x' },
      { authorization },
    );
    t.like(refused, { status: 400, body: { error: 'invalid_grant' } });
    t.deepEqual(
      kept.map(({ headers }) => headers.authorization),
      [authorization, authorization],
    );
  },
);

test.serial('the engine does not warn of a body that was read before it', (t) => {
  t.deepEqual(
    warnings.filter((text) => text.includes('body')),
    [],
  );
});
