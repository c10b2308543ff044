import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import test from '../../harness/test.ts';
import { devices } from 'koa-gatehouse';

import { nameOf, signIn } from '../../../examples/device.ts';
import { signedIn } from '../../harness/platform.ts';
import { answer, registerDevice, startDevicePlatform } from '../../devices/device.ts';

const deviceAuthorization = { interval: '1 second' } as const;
const LINE = /^Open (\S+) and enter the code (\S+)$/;

test('the command line shows an address and a code, waits, and says who has signed in', async (t) => {
  await using platform = await startDevicePlatform({ features: [devices(deviceAuthorization)] });
  const { client } = await registerDevice(platform);
  const child = spawn(process.execPath, ['examples/device.ts', platform.origin, client.id], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout);
  const [first] = (await once(lines, 'line')) as [string];
  const [, url, code = ''] = LINE.exec(first) ?? [];
  t.is(url, platform.url('/oauth/device').href);
  const said = once(lines, 'line');
  await answer(platform, await signedIn(platform), code);
  t.deepEqual(await said, ['You are signed in as Ann.']);
});

test('below the path of an issuer, and with a user who refuses', async (t) => {
  await using platform = await startDevicePlatform(
    { features: [devices(deviceAuthorization)] },
    { path: '/auth' },
  );
  const { client } = await registerDevice(platform);
  const run = async (button: 'Connect' | 'Deny'): Promise<string> => {
    const shown = Promise.withResolvers<string>();
    const token = signIn(platform.auth.issuer, client.id, shown.resolve);
    const [, , code = ''] = LINE.exec(await shown.promise) ?? [];
    await answer(platform, await signedIn(platform), code, button);
    return token;
  };
  t.is(await nameOf(platform.auth.issuer, await run('Connect')), 'Ann');
  await t.throwsAsync(run('Deny'), { message: 'the user has refused' });
  await t.throwsAsync(signIn(platform.auth.issuer, 'unknown', t.log), {
    message: 'client authentication failed',
  });
});
