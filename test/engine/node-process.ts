/** A node in a process of its own: `node-process.ts <address of the database> <issuer>`. Says where it listens; ends with its input. */
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { startPlatform } from '../harness/platform.ts';

const [address = '', issuer = ''] = process.argv.slice(2);
const storage = knexStorage(address);
const platform = await startPlatform({ storage, issuer });
process.stdout.write(`${platform.origin}\n`);
process.stdin.resume().on('end', () => {
  void platform[Symbol.asyncDispose]();
});
