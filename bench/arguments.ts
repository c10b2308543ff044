import { parseArgs } from 'node:util';

import { CONTESTANTS } from './contestants.ts';
import type { ContestantName } from './contestants.ts';
import { WORKS } from './works/index.ts';
import { STARTS } from './works/starts.ts';

const WORK_NAMES: readonly string[] = [...WORKS, ...STARTS].map(({ name }) => name);
const CONTESTANT_NAMES: readonly string[] = Object.keys(CONTESTANTS);
const OWN_NAMES: readonly string[] = Object.entries(CONTESTANTS).flatMap(([name, { peer }]) =>
  peer ? [] : [name],
);

/** The parsed options of the command line. */
export interface BenchArguments {
  readonly works: readonly string[];
  readonly contestants: readonly ContestantName[];
  /** One short round with two connections, and each server is started once for all works. The figures mean nothing. */
  readonly smoke: boolean;
  readonly rounds: number;
  /** Ends a work before its last round when the ratios are sure. */
  readonly untilSure: boolean;
  readonly seconds: number;
  readonly warmUp: number;
  /** The maximum number of connections. */
  readonly mostConnections: number;
  readonly batch: number;
  /** The number of processes of the contestants with several. */
  readonly workers: number;
  /** Includes the peers, which are installed for it. */
  readonly peers: boolean;
  readonly json: boolean;
  /** Prints tables in Markdown. */
  readonly markdown: boolean;
  /** The file of the picture in SVG. */
  readonly picture: string | undefined;
  readonly profile: boolean;
  readonly help: boolean;
}

export const USAGE: string = `Usage: npm run bench -- [options]

Compares this package with oidc-provider alone, with page.pdf() alone, and with the minimum cost of the same responses.
The main figure is the CPU time of the server and the processes that it starts, per operation. Ratios are medians over
rounds, in which the servers are measured in turn.

  --only WORK,...         ${WORK_NAMES.join(', ')}
  --with CONTESTANT,...   ${CONTESTANT_NAMES.join(', ')};
                          the reference of the ratios is always included, node-oauth2-server and better-auth need --peers
  --rounds N              rounds (5)
  --until-sure            fewer rounds, when this package's CPU time is known to 5 % of each other's
  --seconds N             seconds per contestant and round (3)
  --smoke                 one short round, as a test of the benchmark itself
  --peers                 compare with node-oauth2-server and better-auth as well, which npm installs in the user's cache
  --workers N             processes of the contestants with workers (2)
  --profile               show CPU profiles of the servers
  --json                  print one JSON object instead of tables
  --markdown              print the tables of docs/review/performance-tables.md
  --picture FILE          write the picture of docs/review/performance.md, in SVG
  --help                  print this
`;

/** @throws TypeError for unknown options and values */
export function readArguments(argv: readonly string[]): BenchArguments {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string' },
      with: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      'until-sure': { type: 'boolean', default: false },
      picture: { type: 'string' },
      seconds: { type: 'string', default: '3' },
      smoke: { type: 'boolean', default: false },
      workers: { type: 'string', default: '2' },
      peers: { type: 'boolean', default: false },
      markdown: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { smoke, peers, markdown, profile, json, help } = values;
  return {
    works: namesOf('--only', values.only, WORK_NAMES),
    contestants: namesOf(
      '--with',
      values.with,
      peers ? CONTESTANT_NAMES : OWN_NAMES,
    ) as readonly ContestantName[],
    smoke,
    rounds: smoke ? 1 : amountOf('--rounds', values.rounds),
    untilSure: values['until-sure'],
    picture: values.picture,
    seconds: smoke ? 0.01 : amountOf('--seconds', values.seconds),
    batch: smoke ? 1 : 25,
    warmUp: smoke ? 0 : 8000,
    mostConnections: smoke ? 2 : Infinity,
    workers: countOf('--workers', values.workers),
    peers,
    profile,
    json,
    markdown,
    help,
  };
}

function namesOf(option: string, given: string | undefined, known: readonly string[]): readonly string[] {
  const names = given?.split(',') ?? known;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`${option}: there is no ${unknown}; ${known.join(', ')}`);
  return names;
}

function countOf(option: string, given: string): number {
  const count = amountOf(option, given);
  if (!Number.isInteger(count)) throw new TypeError(`${option} takes a whole number, not ${given}`);
  return count;
}

function amountOf(option: string, given: string): number {
  const amount = Number(given);
  if (!(amount > 0)) throw new TypeError(`${option} takes a number above 0, not ${given}`);
  return amount;
}
