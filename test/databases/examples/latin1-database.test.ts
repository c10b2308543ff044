import { mariadb } from '../../adapters/databases.ts';
import { connect, MARIADB } from '../../adapters/servers.ts';
import { postJson } from '../../harness/requests.ts';
import { serveExample } from '../../examples/served-example.ts';
import { clientToken } from '../../examples/tokens.ts';

mariadb.register('names in any script are stored in a database whose default is latin1', async (t) => {
  const address = await mariadb.empty();
  const database = connect(MARIADB, address);
  await database.raw(`alter database ${new URL(address).pathname.slice(1)} character set latin1`);
  await database.destroy();
  await using example = await serveExample({ environment: { DATABASE_URL: address } });
  const { announced } = example;
  const name = 'Szkoła w Łodzi, 学校 🎒';
  const created = await postJson(
    `${announced.base_url}/api/v1/actions/school/create-school-action`,
    { name, city: 'Łódź' },
    { authorization: `Bearer ${await clientToken(announced, 'Nightly import')}` },
  );
  t.is(created.status, 200);
  t.is((created.body as { data: { name: string } }).data.name, name);
});
