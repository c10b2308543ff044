// Calculates what a load needs. Figures and explanation are in docs/review/scaling.md.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { plan } from './model.ts';
import type { Costs, Load } from './model.ts';

const USAGE = `Usage: npm run capacity -- [options]

Calculates the processes, the reads and the writes of a platform, and the cores that it uses, from the CPU time of each operation.

  --rate N[,N...]        guarded requests per second (1e3,1e5,1e7)
  --pause N              seconds between two requests with one token (10)
  --access-token N       lifetime of an access token in seconds (3600)
  --authorizations N     seconds between two authorizations of a user and a client (2592000)
  --client-tokens N      share of the requests for which a client first asks for a token (0.001)
  --revocation-lag N     seconds (5)
  --cached-tokens N      of each process (10000)
  --affinity             all requests with one token go to one process
  --pooler               PgBouncer, without prepared statements, before PostgreSQL
  --costs FILE           JSON with costs in microseconds of CPU time (bench/capacity/costs.json)
`;

const HEADINGS: readonly string[] = [
  'requests/s',
  'tokens in use',
  'processes',
  'cores in use',
  'wait, p99',
  'requests that read',
  'reads/s',
  'writes/s',
  'pruned rows/s',
  'database cores',
  'PgBouncer cores',
];

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '1e3,1e5,1e7' },
    pause: { type: 'string', default: '10' },
    'access-token': { type: 'string', default: '3600' },
    authorizations: { type: 'string', default: '2592000' },
    'client-tokens': { type: 'string', default: '0.001' },
    'revocation-lag': { type: 'string', default: '5' },
    'cached-tokens': { type: 'string', default: '10000' },
    affinity: { type: 'boolean', default: false },
    pooler: { type: 'boolean', default: false },
    costs: { type: 'string', default: `${import.meta.dirname}/costs.json` },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

if (values.help) process.stdout.write(USAGE);
else process.stdout.write(`${calculate()}\n`);

function calculate(): string {
  const costs = JSON.parse(readFileSync(values.costs, 'utf8')) as Costs;
  const rows = values.rate.split(',').map((rate) => {
    const load: Load = {
      rate: numberOf('--rate', rate),
      pause: numberOf('--pause', values.pause),
      accessToken: numberOf('--access-token', values['access-token']),
      authorizations: numberOf('--authorizations', values.authorizations),
      clientTokens: numberOf('--client-tokens', values['client-tokens']),
      revocationLag: numberOf('--revocation-lag', values['revocation-lag']),
      cachedTokens: numberOf('--cached-tokens', values['cached-tokens']),
      affinity: values.affinity,
      pooler: values.pooler,
    };
    const needed = plan(load, costs);
    return [
      load.rate,
      needed.tokens,
      needed.processes,
      cores(needed.cores),
      `${needed.wait.toFixed(1)} ms`,
      `${(100 * needed.readShare).toFixed(0)} %`,
      needed.databaseReads,
      needed.databaseWrites,
      needed.prunedRows,
      cores(needed.databaseCores),
      cores(needed.poolerCores),
    ];
  });
  return [HEADINGS, HEADINGS.map(() => '--:'), ...rows]
    .map((cells) => `| ${cells.map(format).join(' | ')} |`)
    .join('\n');
}

/** With two figures at least, because at a low rate it is a small part of one. */
function cores(number: number): string | number {
  return number < 10 ? String(Number(number.toPrecision(2))) : number;
}

function format(cell: string | number): string {
  return typeof cell === 'string' ? cell : Math.round(cell).toLocaleString('en');
}

function numberOf(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isFinite(number) || number < 0 || text.trim() === '')
    throw new TypeError(`${option}: "${text}" is no number from 0 up`);
  return number;
}
