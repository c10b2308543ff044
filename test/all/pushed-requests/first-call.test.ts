import test from '../../harness/test.ts';
import { pushedRequests } from 'koa-gatehouse';

import { openArea } from '../../developer/area.ts';
import { passwordOf } from '../../developer/developers.ts';
import { cannotRun, linesIn, runLines } from '../first-call/copied-lines.ts';
import { Browser } from '../../harness/browser.ts';
import { assertionParameters, makeKeyPair } from '../../harness/client-keys.ts';
import { signIn } from '../../harness/platform.ts';

const { email, password } = passwordOf('ann');
const runs = cannotRun === undefined ? test : test.skip;

for (const language of ['curl', 'JavaScript', 'Python'] as const)
  for (const kind of ['confidential', 'public', 'with a key'])
    runs(`the lines of the page of an app push where it is required: ${language}, ${kind}`, async (t) => {
      const area = await openArea(
        t,
        'dora',
        { clients: { privateKeyJwt: true }, features: [pushedRequests({ required: true })] },
        '/auth',
      );
      const pair = await makeKeyPair();
      const redirectUris = [`https://reports.example/it's/$HOME/back?a=b&c=%20d`];
      const { client, secret } = await area.registerFor('dora', {
        grantType: 'authorization_code',
        redirectUris,
        ...(kind === 'with a key'
          ? { keys: { jwks: { keys: [pair.publicJwk] } } }
          : { confidential: kind !== 'public' }),
      });
      const sign = async (): Promise<string> =>
        (await assertionParameters(client.id, area.auth.issuer, pair)).client_assertion;
      const { html, text } = await area.open(`/${client.id}`);
      t.regex(text, /Pushed authorization request URL \S+\/auth\/oauth\/par/);
      const printed = await runLines(linesIn(html, language), language, {
        ...(kind === 'with a key' ? { secret: await sign(), another: await sign() } : { secret }),
        async authorize(address) {
          const browser = new Browser(area.reach);
          const consent = await signIn(browser, await browser.open(address), email, password);
          const page = await browser.follow(await browser.submit(consent, 'Authorize'));
          return page.location!.href;
        },
        connect: async () => {},
      });
      t.regex(printed, new RegExp(`['"]?client_id['"]?: ?['"]${client.id}['"]`), printed);
    });
