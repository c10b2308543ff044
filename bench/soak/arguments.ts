import { parseArgs } from 'node:util';

/** In milliseconds, or after so many operations; 0: never. */
export type KillEvery = { readonly milliseconds: number } | { readonly operations: number };

/** What is to be run. */
export interface SoakArguments {
  readonly database: string;
  readonly nodes: number;
  readonly operations: number;
  readonly killEvery: KillEvery;
  readonly concurrency: number;
  readonly seed: number;
  /** Where the answers are kept; `undefined`: only when there is a violation. */
  readonly answers: string | undefined;
  /** A file of answers to check again, instead of a run. */
  readonly check: string | undefined;
  /** The nodes run from the package's sources: the build is left out, and each start takes longer. */
  readonly sources: boolean;
  readonly markdown: boolean;
  readonly help: boolean;
}

export const USAGE: string = `Usage: npm run soak -- [options]

Sends requests of all kinds to several server processes on one database, kills the processes and starts them again, and checks
every answer: one winner for each code and refresh token, nothing lost, nothing revived, own data only.

  --database URL      sqlite:FILE, postgres://… or mysql://… (sqlite:); the run makes a database of its own
                      there and removes it
  --nodes N           server processes (4)
  --operations N      requests and authorizations (20000)
  --kill-every TIME   kill one process with SIGKILL, such as 1s or 500ms, or one after so
                      many operations, such as 4000ops; 0: never (1s)
  --concurrency N     operations at a time (24)
  --seed N            of the choice of operations (a random one, which is shown)
  --answers FILE      keep all answers; without it they are kept when one is wrong
  --check FILE        check kept answers again, and run nothing
  --sources           run the servers from the sources, without building the package first
  --markdown          print the tables in Markdown
  --help              print this

Exit status: 0: no wrong answer; 1: wrong answers, or a server that ended; 2: wrong arguments; 130: interrupted.
`;

/** @throws TypeError for anything it does not know */
export function readArguments(argv: readonly string[]): SoakArguments {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      database: { type: 'string', default: 'sqlite:' },
      nodes: { type: 'string', default: '4' },
      operations: { type: 'string', default: '20000' },
      'kill-every': { type: 'string', default: '1s' },
      concurrency: { type: 'string', default: '24' },
      seed: { type: 'string' },
      answers: { type: 'string' },
      check: { type: 'string' },
      sources: { type: 'boolean', default: false },
      markdown: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { answers, check, database, help, markdown, seed, sources } = values;
  if (!/^(?:sqlite:|postgres(?:ql)?:\/\/|mysql:\/\/)/.test(database)) {
    throw new TypeError(`--database takes sqlite:FILE, postgres://… or mysql://…, not ${database}`);
  }
  return {
    database,
    nodes: countOf('--nodes', values.nodes),
    operations: countOf('--operations', values.operations),
    killEvery: intervalOf('--kill-every', values['kill-every']),
    concurrency: countOf('--concurrency', values.concurrency),
    seed: seed === undefined ? Math.floor(Math.random() * 2 ** 31) : countOf('--seed', seed),
    answers,
    check,
    sources,
    markdown,
    help,
  };
}

function countOf(option: string, given: string): number {
  const count = Number(given);
  if (!Number.isSafeInteger(count) || count < 1)
    throw new TypeError(`${option} takes a whole number above 0, not ${given}`);
  return count;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000 };

function intervalOf(option: string, given: string): KillEvery {
  const [, amount, unit = 's'] = /^(\d+)(ms|s|min|ops)?$/.exec(given) ?? [];
  if (amount === undefined)
    throw new TypeError(`${option} takes a time such as 1s or 500ms, or 4000ops, not ${given}`);
  return unit === 'ops' ? { operations: Number(amount) } : { milliseconds: Number(amount) * UNITS[unit]! };
}
