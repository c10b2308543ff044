import test from '../harness/test.ts';
import type { Feature } from 'koa-gatehouse';

import type { Core } from '../../lib/features/core.ts';
import { PublicFetchError } from '../../lib/http/public-request.ts';
import { startPlatform } from '../harness/platform.ts';
import { json, ON_LOOPBACK, servePublic } from '../harness/public-server.ts';
import { serve } from '../harness/serve.ts';
import { until } from '../harness/until.ts';

const SMALL = { maxBytes: 100 };

/** A feature that hands on the core of its server. */
function handingOn(): { readonly feature: Feature; core: Core | undefined } {
  const handed = {
    core: undefined as Core | undefined,
    feature: {
      name: 'handingOn',
      install(core: Core) {
        handed.core = core;
        return {};
      },
    },
  };
  return handed;
}

test('what a feature fetches for itself has places that fetches for strangers do not take', async (t) => {
  const held: (() => void)[] = [];
  await using site = await servePublic((request, response) => {
    const answer = (): void => json({ path: request.url })(request, response);
    if (request.url!.startsWith('/slow')) held.push(answer);
    else answer();
  });
  const handed = handingOn();
  await using _platform = await startPlatform({ features: [handed.feature] }, ON_LOOPBACK);
  const { publicFetch, publicFetchFor } = handed.core!;
  const own = publicFetchFor({ loopback: false });
  // As many as are fetched from one site for strangers at once.
  const slow = ['/slow-1', '/slow-2'].map(async (path) => publicFetch(site.origin + path, SMALL));
  await until(() => held.length === 2);
  const busy = { instanceOf: PublicFetchError, message: 'too many documents are being fetched' };
  await t.throwsAsync(publicFetch(`${site.origin}/keys`, SMALL), busy);
  t.like(await own(`${site.origin}/keys`, SMALL), { value: { path: '/keys' } });
  for (const answer of held) answer();
  await Promise.all(slow);
});

test('what a feature fetches for itself may be on loopback, where it says so', async (t) => {
  await using site = await serve(() => json({ keys: [] }));
  const handed = handingOn();
  await using _platform = await startPlatform({ features: [handed.feature] });
  const { publicFetchFor } = handed.core!;
  const url = `${site.origin}/keys`;
  await t.throwsAsync(publicFetchFor({ loopback: false })(url, SMALL), {
    message: 'the URL must be an https URL without credentials and fragment',
  });
  t.like(await publicFetchFor({ loopback: true })(url, SMALL), { value: { keys: [] } });
});
