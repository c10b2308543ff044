import test from '../harness/test.ts';

import { pkce } from '../harness/pkce.ts';
import { runCodeFlow, startPlatform } from '../harness/platform.ts';
import { basic, postForm } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  return { platform };
});

test('a refresh token of a confidential client requires the secret of the client', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const other = await platform.registerApp({ name: 'Other' });
  const publicApp = await platform.registerApp({ name: 'Public', confidential: false });
  const { body } = await runCodeFlow(platform, app);
  const fields = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
  const { id } = app.client;

  const refused: [object, Record<string, string>, string][] = [
    [{}, {}, 'invalid_request'],
    [{ client_id: id }, {}, 'invalid_client'],
    [{ client_id: id, client_secret: '' }, {}, 'invalid_client'],
    [{ client_id: id, client_secret: 'wrong' }, {}, 'invalid_client'],
    [{ client_id: id, client_secret: other.secret }, {}, 'invalid_client'],
    [{ client_id: id, code_verifier: pkce().verifier }, {}, 'invalid_client'],
    [{ client_id: id, client_secret: body.refresh_token }, {}, 'invalid_client'],
    [{ client_id: publicApp.client.id }, {}, 'invalid_grant'],
    [asClient(other), {}, 'invalid_grant'],
    [{}, basic(id, ''), 'invalid_client'],
    [{}, basic(id, 'wrong'), 'invalid_client'],
    [{ client_id: id }, { authorization: `Bearer ${body.access_token}` }, 'invalid_request'],
  ];
  for (const [more, headers, error] of refused) {
    const answer = await postForm(`${platform.origin}/oauth/token`, { ...fields, ...more }, headers);
    t.is(answer.body?.['error'], error, JSON.stringify([more, headers]));
  }
  const refreshed = await postForm(`${platform.origin}/oauth/token`, fields, basic(id, app.secret));
  t.is(refreshed.status, 200, 'the refused requests did not use the token');
});
