import test from '../harness/test.ts';

import { createService } from '../../examples/service.ts';
import { serve } from '../harness/serve.ts';

test('a server without a Koa app issues tokens, to forms with HTTP Basic too', async (t) => {
  let auth!: Awaited<ReturnType<typeof createService>>;
  await using service = await serve(async (origin) => {
    auth = await createService(origin);
    return auth.callback();
  });
  const { client, secret } = await auth.clients.create({
    name: 'Robot',
    grantType: 'client_credentials',
  });

  const response = await fetch(`${service.origin}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client.id}:${secret!.value}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  t.is(response.status, 200);
  t.is(JSON.parse(await response.text()).token_type, 'Bearer');
  t.is((await fetch(`${service.origin}/nowhere`)).status, 404);
});
