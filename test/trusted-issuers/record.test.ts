import test from '../harness/test.ts';
import { createMetrics } from 'koa-gatehouse/metrics';

import { idJag, issuerKeys, JWT_BEARER, present, startTrusted } from './identity-provider.ts';

test('metrics count the grant by its name, and the log says why an assertion was refused, without it', async (t) => {
  await using platform = await startTrusted();
  const metrics = createMetrics(platform.auth);
  const app = await platform.registerApp();
  const accepted = await idJag(platform, app);
  const refused = await idJag(platform, app, { sub: 'nobody' });
  t.is((await present(platform, app, accepted)).status, 200);
  t.is((await present(platform, app, refused)).status, 400);
  const text = await metrics.register.metrics();
  metrics.stop();
  t.true(text.includes(`gatehouse_tokens_issued_total{grant_type="${JWT_BEARER}"} 1`), text);
  t.true(
    text.includes(`gatehouse_tokens_refused_total{grant_type="${JWT_BEARER}",error="invalid_grant"} 1`),
    text,
  );
  const lines = platform.logger.lines.filter(({ fields }) => JSON.stringify(fields).includes(JWT_BEARER));
  t.true(
    lines.some(({ fields }) => JSON.stringify(fields).includes('findUser() finds no user')),
    JSON.stringify(lines),
  );
  // Neither assertion, nor a part of one that would do to make another.
  const recorded = JSON.stringify([platform.logger.lines, await platform.auth.audit.list({ limit: 200 })]);
  for (const assertion of [accepted, refused])
    for (const part of assertion.split('.')) t.false(recorded.includes(part));
  t.false(recorded.includes(String((await issuerKeys()).privateJwk['d'])));
});
