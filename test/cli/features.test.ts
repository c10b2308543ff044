import test from '../harness/test.ts';

import { gatehouse, gatehouseJson, gateFile, migrated } from './gatehouse.ts';

const PACKAGE = JSON.stringify(import.meta.resolve('koa-gatehouse'));

const SHARED = `
  export const gate = defineGate({ permissions: { view_schools: 'View schools' } });
  export const scopes = { 'schools:read': { description: 'See schools', permissions: ['view_schools'] } };
  export const users = { find: async (id) => ({ id, name: 'Ada' }) };`;

const withFeatures = (features: string): string =>
  gateFile(`
    import { devices, personalTokens } from ${PACKAGE};
    ${SHARED}
    export const features = ${features};`);

const CREATE = 'personal-token create --name Nightly --scope schools:read';

test('tokens have the lifetime and the number that the features of the gate file allow', async (t) => {
  const env = { DATABASE_URL: await migrated() };
  const gate = withFeatures("[personalTokens({ maxLifetime: '1 day', perUser: 1 })]");
  const tooLong = await gatehouse(`${CREATE} --user-id 1 --lifetime '2 days' --gate ${gate}`, env);
  t.deepEqual([tooLong.code, tooLong.output], [1, '']);
  t.regex(tooLong.errors, /lifetime: at most 86400 s, which is the option maxLifetime/);
  t.is((await gatehouse('personal-token list 1', env)).output, 'No tokens.\n');

  const { token } = await gatehouseJson<{ token: { user_id: string } }>(
    `${CREATE} --user-id 1 --lifetime '1 day' --gate ${gate}`,
    env,
  );
  t.is(token.user_id, '1');
  const second = await gatehouse(`${CREATE} --user-id 1 --lifetime '1 day' --gate ${gate}`, env);
  t.deepEqual([second.code, second.output], [1, '']);
  t.regex(second.errors, /userId: a user can have at most 1 personal access tokens; end one first/);

  const withoutFeatures = gateFile(SHARED);
  t.is((await gatehouse(`${CREATE} --user-id 1 --lifetime '1 year' --gate ${withoutFeatures}`, env)).code, 0);
});

test('a client needs a kind of the features of the gate file', async (t) => {
  const env = { DATABASE_URL: await migrated() };
  const create = 'client create --name TV --grant-type device_code';
  const refused = await gatehouse(`${create} --gate ${withFeatures('[personalTokens()]')}`, env);
  t.deepEqual([refused.code, refused.output], [2, '']);
  t.regex(refused.errors, /give the server the feature for device_code first/);
  t.is((await gatehouse(`${create} --gate ${withFeatures('[devices()]')}`, env)).code, 0);
});

test('features of the gate file that are no list are refused', async (t) => {
  const env = { DATABASE_URL: await migrated() };
  const { code, errors, output } = await gatehouse(
    `personal-token list 1 --gate ${withFeatures('devices()')}`,
    env,
  );
  t.deepEqual([code, output], [2, '']);
  t.regex(errors, /features: pass a list of what its factories return, such as \[personalTokens\(\)\]/);
});
