import test from '../harness/test.ts';
import type { Feature } from 'koa-gatehouse';

import { TryAgain } from '../../lib/engine/refusals.ts';
import { startPlatform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';

const AWAY_GRANT = 'urn:example:away';

/** A feature whose grant needs something that cannot be reached. */
const AWAY: Feature = {
  name: 'away',
  install: () => ({
    engine: {
      clientMetadata: () => ({ grant_types: [AWAY_GRANT] }),
      grants: [
        {
          name: AWAY_GRANT,
          parameters: [],
          async handle() {
            throw new TryAgain('the directory cannot be read now', 'ldap.example refused the connection', 7);
          },
        },
      ],
    },
  }),
};

test('a grant that needs something which cannot be reached is 503 with Retry-After', async (t) => {
  await using platform = await startPlatform({ features: [AWAY] });
  const service = await platform.registerService();
  const answer = await postForm(platform.url('/oauth/token'), {
    grant_type: AWAY_GRANT,
    ...asClient(service),
  });
  t.is(answer.status, 503, answer.text);
  t.is(answer.headers.get('retry-after'), '7');
  t.deepEqual(answer.body, {
    error: 'temporarily_unavailable',
    error_description: 'the directory cannot be read now',
  });
  const [record] = await platform.auth.audit.list({ types: ['token_refused'] });
  t.like(record, {
    clientId: service.client.id,
    error: 'temporarily_unavailable',
    reason: 'ldap.example refused the connection',
  });
  t.like(platform.logger.lines.at(-1), {
    level: 'info',
    fields: { status: 503, reason: 'ldap.example refused the connection' },
  });
});
