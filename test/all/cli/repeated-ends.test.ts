import test from '../../harness/test.ts';
import { createAdministration, personalTokens as withTokens } from 'koa-gatehouse';
import type { Administration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { sayMissing } from '../../harness/missing.ts';
import { findPrograms } from '../../adapters/scratch-server.ts';
import { POSTGRESQL_KIND, startStandbyPair } from '../../adapters/standby-pair.ts';
import { recordingLogger } from '../../harness/platform.ts';
import { gatehouse } from '../../cli/gatehouse.ts';

const programs = findPrograms(POSTGRESQL_KIND);

/** Commands that end nothing. */
const OTHERS = new Set(
  `allow-app audit:export audit:list backup doctor migrate prune client:create client:enable client:import client:list client:logo client:show client:update
  client:secrets:add client:secrets:list signing-keys:encrypt signing-keys:list signing-keys:rotate laravel-passport:status personal-token:create personal-token:list
  user-data:export`.split(/\s+/),
);

/** Makes what each command ends. Resolves to its words. */
const COMMANDS: Readonly<Record<string, (administration: Administration) => Promise<readonly string[]>>> = {
  'client:delete': async (administration) => ['client', 'delete', await register(administration), '--yes'],
  'client:disable': async (administration) => ['client', 'disable', await register(administration)],
  'client:permissions': async (administration) => {
    const id = await register(administration, { permissions: ['view_schools'] });
    return ['client', 'permissions', id, '--remove', 'view_schools'];
  },
  'client:rotate-secret': async (administration) => [
    'client',
    'rotate-secret',
    await register(administration),
    '--yes',
  ],
  'client:secrets:delete': async (administration) => {
    const id = await register(administration);
    const [secret] = await administration.clients.secrets(id);
    return ['client', 'secrets', 'delete', id, secret!.id, '--yes'];
  },
  'signing-keys:revoke': async ({ signingKeys: keys }) => {
    await keys.rotate();
    return ['signing-keys', 'revoke', '--yes'];
  },
  revoke: async () => ['revoke', '--user-id', 'ann', '--yes'],
  'personal-token:revoke': async (administration) => {
    const { personalTokens } = await administration.featureMembers(withTokens());
    const { id } = await personalTokens.create({ userId: 'ann', name: 'Import', lifetime: '1 day' });
    return ['personal-token', 'revoke', id, '--yes'];
  },
  'user-data:erase': async () => ['user-data', 'erase', 'bob', '--yes'],
};

async function register(
  { clients }: Administration,
  fields: { readonly permissions?: readonly string[] } = {},
): Promise<string> {
  const { client } = await clients.create({ name: 'Nightly', grantType: 'client_credentials', ...fields });
  return client.id;
}

if (programs === undefined) {
  sayMissing(`there is no ${POSTGRESQL_KIND.program}: install PostgreSQL as Debian packages it`);
} else {
  test('a command that ends something says so only when the end is known to last', async (t) => {
    await using pair = await startStandbyPair(programs);
    const env = { DATABASE_URL: pair.address };
    t.is((await gatehouse('migrate', env)).code, 0);
    const storage = knexStorage(pair.host, { listen: false });
    const administration = createAdministration({ storage, logger: recordingLogger() });
    const commands: [string, readonly string[]][] = [];
    for (const [name, prepare] of Object.entries(COMMANDS))
      commands.push([name, await prepare(administration)]);
    await pair.loseStandby();
    for (const time of ['first', 'second'])
      for (const [name, words] of commands) {
        const { code, errors } = await gatehouse(words, env);
        t.is(code, 1, `${name}, the ${time} time`);
        t.regex(errors, /without its synchronous standby/, `${name}, the ${time} time`);
      }
  });
}

test('every command that ends something is among them', async (t) => {
  const known = [...OTHERS, ...Object.keys(COMMANDS)];
  t.deepEqual(
    (await commandsOf([])).toSorted(),
    known.toSorted(),
    'add the command to COMMANDS above, or to OTHERS if it ends nothing',
  );
});

/** The commands below a command, as its help lists them. */
async function commandsOf(path: readonly string[]): Promise<readonly string[]> {
  const { output } = await gatehouse([...path, '--help']);
  const listed = /^Commands:\n((?: .*\n)+)/m.exec(output)?.[1] ?? '';
  const names = Array.from(listed.matchAll(/^ {2}([\w-]+)/gm), ([, name]) => name!).filter(
    (name) => name !== 'help',
  );
  if (names.length === 0) return [path.join(':')];
  return (await Promise.all(names.map(async (name) => commandsOf([...path, name])))).flat();
}
