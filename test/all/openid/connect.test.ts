import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import test from '../../harness/test.ts';
import type { ClientFields } from 'koa-gatehouse';

import { openArea, REPORTS } from '../../developer/area.ts';
import type { Area } from '../../developer/area.ts';
import { cannotRun, linesIn } from '../first-call/copied-lines.ts';

type Fields = Partial<Omit<ClientFields, 'roles' | 'permissions'>>;

const PRODUCTS = ['Moodle', 'Nextcloud', 'Grafana', 'oauth2-proxy', 'Auth.js'];

/** The settings of each product on the page of an app that is registered with these fields. */
async function settingsOf({ auth, open }: Area, fields: Fields = {}) {
  const { client } = await auth.clients.create({ ...REPORTS, ownerId: 'dora', ...fields });
  const { html, text } = await open(`/${client.id}`);
  const lines = PRODUCTS.map((product) => [product, linesIn(html, product).at(-1) ?? ''] as const);
  return { client, text, settings: Object.fromEntries(lines) as Readonly<Record<string, string>> };
}

/** Whether the page of an app has the settings, and the discovery URL. */
async function isShown(area: Area, fields: Fields = {}): Promise<readonly boolean[]> {
  const { settings, text } = await settingsOf(area, fields);
  return [settings['Moodle'] !== '', text.includes('Discovery URL')];
}

function python(program: string, input: string): unknown {
  const { stderr, stdout } = spawnSync('python3', ['-c', program], { input, encoding: 'utf8' });
  if (stderr !== '') throw new Error(stderr);
  return JSON.parse(stdout);
}

// One after the other: a server refuses what has arrived while its process stood still, as it does for the programs below.
const runs = cannotRun === undefined ? test.serial : test.skip;
if (cannotRun !== undefined) test(`SKIPPED: ${cannotRun}`, (t) => t.pass());

runs(
  'the settings on the page of an app are read by each product, and name what the discovery URL says',
  async (t) => {
    const area = await openArea(t, 'dora', { openid: true }, '/auth');
    const redirectUri = `https://reports.example/it's/$HOME/back?a=b`;
    const { client, settings, text } = await settingsOf(area, { redirectUris: [redirectUri] });
    const discovery = `${area.auth.issuer}/.well-known/openid-configuration`;
    t.true(text.includes(`Discovery URL (OpenID Connect) ${discovery}`), text);
    const metadata = (await (await fetch(area.reach(new URL(discovery)))).json()) as Record<string, string>;
    const scope = 'openid profile email';

    const moodle = Object.fromEntries(settings['Moodle']!.split('\n').map((line) => line.split(/: (.*)/)));
    t.like(moodle, { 'Service base URL': metadata['issuer'], 'Client ID': client.id });

    const folder = await mkdtemp(join(tmpdir(), 'sign-in-'));
    t.teardown(async () => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'php'), `#!/bin/sh\nprintf '%s\\n' "$@"\n`, { mode: 0o755 });
    const { stdout } = spawnSync('sh', ['-c', settings['Nextcloud']!], {
      input: 's3cret\n',
      encoding: 'utf8',
      env: { PATH: `${folder}:${process.env['PATH']}` },
    });
    t.deepEqual(stdout.replace('Secret: ', '').trim().split('\n'), [
      'occ',
      'user_oidc:provider',
      new URL(area.auth.issuer).hostname,
      `--clientid=${client.id}`,
      '--clientsecret=s3cret',
      `--discoveryuri=${discovery}`,
      `--scope=${scope}`,
      '--mapping-uid=sub',
      '--mapping-display-name=name',
      '--mapping-email=email',
    ]);

    const ini = `import configparser, json, sys
c = configparser.ConfigParser(interpolation=None); c.read_string(sys.stdin.read())
print(json.dumps(dict(c['auth.generic_oauth'])))`;
    t.deepEqual(python(ini, settings['Grafana']!), {
      enabled: 'true',
      client_id: `"${client.id}"`,
      client_secret: '$__env{CLIENT_SECRET}',
      scopes: scope,
      auth_url: metadata['authorization_endpoint'],
      token_url: metadata['token_endpoint'],
      api_url: metadata['userinfo_endpoint'],
      use_pkce: 'true',
    });

    const toml = 'import json, sys, tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))';
    t.like(python(toml, settings['oauth2-proxy']!), {
      oidc_issuer_url: metadata['issuer'],
      client_id: client.id,
      redirect_url: redirectUri,
      scope,
    });

    const made = spawnSync(process.execPath, ['-p', `JSON.stringify({${settings['Auth.js']}})`], {
      encoding: 'utf8',
      env: { CLIENT_SECRET: 's3cret' },
    });
    const { providers } = JSON.parse(made.stdout) as { providers: object[] };
    t.like(providers[0], {
      name: 'Acme Schools',
      issuer: metadata['issuer'],
      clientId: client.id,
      clientSecret: 's3cret',
      type: 'oidc',
    });
  },
);

test.serial('they are on the pages of apps with a secret at which users can sign in', async (t) => {
  const [on, off] = [await openArea(t, 'dora', { openid: true }), await openArea(t, 'dora')];
  t.deepEqual(await isShown(on), [true, true]);
  t.deepEqual(await isShown(on, { scopes: ['openid', 'email'] }), [true, true]);
  t.deepEqual(await isShown(on, { confidential: false }), [false, true]);
  t.deepEqual(await isShown(on, { scopes: [] }), [false, false]);
  t.deepEqual(await isShown(on, { grantType: 'client_credentials', redirectUris: [] }), [false, false]);
  t.deepEqual(await isShown(off), [false, false]);
});
