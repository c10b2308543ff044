import { parseArgs } from 'node:util';

import { CONTESTANTS } from './contestants.ts';
import type { ContestantName } from './contestants.ts';
import { WORKS } from './works/index.ts';

export const START_UP = 'start-up';

const WORK_NAMES: readonly string[] = [...WORKS.map(({ name }) => name), START_UP];
const CONTESTANT_NAMES: readonly string[] = Object.keys(CONTESTANTS);

/** What is to be measured. */
export interface BenchArguments {
  readonly works: readonly string[];
  readonly contestants: readonly ContestantName[];
  /** Nothing is measured well: one short round, two ask at once, and every server is started once for all works. */
  readonly smoke: boolean;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: number;
  /** How many ask at once where a work says more. */
  readonly mostConnections: number;
  readonly batch: number;
  readonly json: boolean;
  readonly profile: boolean;
  readonly help: boolean;
}

export const USAGE: string = `Usage: npm run bench -- [options]

Measures this package next to oidc-provider alone and to the least that the same answers can cost. The CPU time that a
server spends on an operation is what counts; the ratios are medians over rounds in which all took turns.

  --only WORK,...         ${WORK_NAMES.join(', ')}
  --with CONTESTANT,...   ${CONTESTANT_NAMES.join(', ')};
                          whom the ratios are against takes part always
  --rounds N              rounds of each (5)
  --seconds N             of one contestant in a round (3)
  --smoke                 one short round each: shows that everything works, and measures nothing
  --profile               show where the servers spend their time
  --json                  print one JSON object instead of tables
  --help                  print this
`;

/** @throws TypeError for anything it does not know */
export function readArguments(argv: readonly string[]): BenchArguments {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string' },
      with: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      smoke: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { smoke, profile, json, help } = values;
  return {
    works: namesOf('--only', values.only, WORK_NAMES),
    contestants: namesOf('--with', values.with, CONTESTANT_NAMES) as readonly ContestantName[],
    smoke,
    rounds: smoke ? 1 : amountOf('--rounds', values.rounds),
    seconds: smoke ? 0.01 : amountOf('--seconds', values.seconds),
    batch: smoke ? 1 : 25,
    warmUp: smoke ? 0 : 8000,
    mostConnections: smoke ? 2 : Infinity,
    profile,
    json,
    help,
  };
}

function namesOf(option: string, given: string | undefined, known: readonly string[]): readonly string[] {
  const names = given?.split(',') ?? known;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`${option}: there is no ${unknown}; ${known.join(', ')}`);
  return names;
}

function amountOf(option: string, given: string): number {
  const amount = Number(given);
  if (!(amount > 0)) throw new TypeError(`${option} takes a number above 0, not ${given}`);
  return amount;
}
