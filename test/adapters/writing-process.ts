// Writes sessions to a file, many at a time, and says the id of each that is stored, until it is killed or has written enough.
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aSession, HOUR, NOW } from '../storage/rows.ts';

const [filename = '', name = '', count = ''] = process.argv.slice(2);
const storage = knexStorage(`sqlite:${filename}`);
await storage.migrate();

let begun = 0;
const stored: string[] = [];

async function write(): Promise<void> {
  while (begun < Number(count)) {
    begun += 1;
    const id = `${name}-${begun}`;
    await storage.sessions.insert(
      aSession({ id, uid: id, payload: { text: 'x'.repeat(3000) }, expiresAt: NOW + HOUR }),
    );
    stored.push(id);
    if (stored.length % 50 === 0) await new Promise((resolve) => process.send!(stored.splice(0), resolve));
  }
}

await Promise.all(Array.from({ length: 16 }, write));
await new Promise((resolve) => process.send!(stored, resolve));
// The storage stays open, and so does the process: its log is looked at.
setInterval(() => {}, 1000);
