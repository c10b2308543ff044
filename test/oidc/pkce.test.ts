import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { altered, exchangeCode, REFUSED_GRANT } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  const confidential = await platform.registerApp({ firstParty: true });
  const publicApp = await platform.registerApp({ firstParty: true, confidential: false });
  return { platform, confidential, publicApp };
});

async function codeFor(app: RegisteredApp, parameters: Record<string, string> = {}): Promise<string> {
  const { platform } = await started();
  return (await authorize(platform, app, { browser: new Browser(), parameters })).get('code')!;
}

async function redeem(code: string, by: RegisteredApp, more = {}): Promise<TokenAnswer> {
  const { platform } = await started();
  return exchangeCode(platform, by, code, more);
}

test('a public client gets a token with the verifier and without a secret', async (t) => {
  const { publicApp, platform } = await started();
  const { parameters, verifier } = pkce();
  const answer = await redeem(await codeFor(publicApp, parameters), publicApp, { code_verifier: verifier });
  t.is(answer.status, 200);
  const refreshed = await platform.token({
    grant_type: 'refresh_token',
    client_id: publicApp.client.id,
    refresh_token: answer.body.refresh_token,
  });
  t.is(refreshed.status, 200);
  t.not(refreshed.body.refresh_token, answer.body.refresh_token);
});

test('a confidential client may omit PKCE', async (t) => {
  const { confidential } = await started();
  t.is((await redeem(await codeFor(confidential), confidential)).status, 200);
});

test('after a challenge the matching verifier is required', async (t) => {
  const { confidential, publicApp } = await started();
  for (const app of [confidential, publicApp]) {
    const { parameters, verifier } = pkce();
    const code = await codeFor(app, parameters);
    const others = [
      pkce().verifier,
      parameters.code_challenge,
      altered(verifier),
      `${verifier}A`,
      verifier.toUpperCase(),
    ];
    for (const wrong of [undefined, '', ...others]) {
      const { status, body } = await redeem(code, app, { code_verifier: wrong });
      t.is(status, 400, wrong);
      t.deepEqual(body, REFUSED_GRANT, wrong);
    }
    t.is((await redeem(code, app, { code_verifier: verifier })).status, 200);
  }
});

test('a verifier has 43 to 128 unreserved characters', async (t) => {
  const { confidential } = await started();
  const code = await codeFor(confidential, pkce().parameters);
  const long = 'x'.repeat(42);
  for (const [verifier, description] of [
    [long, 'code_verifier must be a string with a minimum length of 43 characters'],
    ['x'.repeat(129), 'code_verifier must be a string with a maximum length of 128 characters'],
    ...[' ', '=', '+', 'ä', 'x\u0000', 'x\n'].map((end) => [
      long + end,
      'code_verifier contains invalid characters',
    ]),
  ]) {
    const { status, body } = await redeem(code, confidential, { code_verifier: verifier });
    t.is(status, 400);
    t.deepEqual(body as object, { error: 'invalid_request', error_description: description }, verifier);
  }
  for (const verifier of ['x'.repeat(43), 'x'.repeat(128), '-._~'.repeat(11)]) {
    const right = await codeFor(confidential, pkce(verifier).parameters);
    t.is((await redeem(right, confidential, { code_verifier: verifier })).status, 200, verifier);
  }
});

// Against the removal of the challenge from the request by an attacker (RFC 9700 section 4.8.2).
test('a verifier for a code without a challenge is refused', async (t) => {
  const { confidential } = await started();
  const code = await codeFor(confidential);
  const { status, body } = await redeem(code, confidential, { code_verifier: pkce().verifier });
  t.is(status, 400);
  t.deepEqual(body, REFUSED_GRANT);
  t.is((await redeem(code, confidential)).status, 200);
});

test('requirePkce requires PKCE of confidential clients too', async (t) => {
  await using strict = await startPlatform({ clients: { requirePkce: true } });
  const app = await strict.registerApp({ firstParty: true });
  const browser = new Browser();
  const { parameters, verifier } = pkce();
  const code = (await authorize(strict, app, { browser, parameters })).get('code');
  const { location } = await browser.get(authorizeUrl(strict, app));
  t.is(location?.origin, 'https://reports.example');
  t.deepEqual(Object.fromEntries(location!.searchParams), {
    error: 'invalid_request',
    error_description: 'Authorization Server policy requires PKCE to be used for this request',
    state: 'xyz',
    iss: strict.origin,
  });
  const answer = await exchangeCode(strict, app, code, { code_verifier: verifier });
  t.is(answer.status, 200);
});
