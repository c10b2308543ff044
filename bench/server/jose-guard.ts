// A guard with jose alone, which verifies the token of each request and checks nothing else.
import { createLocalJWKSet, exportJWK, jwtVerify } from 'jose';

import { guardedRoute } from './guarded-route.ts';
import { serveContestant } from './serve-contestant.ts';
import { publicKey } from './signed-token.ts';

await serveContestant(async (origin) => {
  const jwk = { ...(await exportJWK(publicKey)), kid: 'bench', alg: 'ES256', use: 'sig' };
  const keys = createLocalJWKSet({ keys: [jwk] });
  return guardedRoute(origin, async (ctx, next) => {
    try {
      const { payload } = await jwtVerify(ctx.get('authorization').slice('Bearer '.length), keys, {
        issuer: origin,
        audience: origin,
        typ: 'at+jwt',
      });
      ctx.state['claims'] = payload;
    } catch {
      ctx.throw(401);
    }
    await next();
  });
});
