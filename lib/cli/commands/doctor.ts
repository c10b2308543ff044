import type { Command } from 'commander';
import type { Finding } from 'koa-gatehouse';

import { withSession } from '../session.ts';
import { wrap } from '../table.ts';

interface Options {
  readonly issuer?: string;
}

/** `gatehouse doctor` */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .summary('check the database, the keys and the clients')
    .description(
      'Check migrations, keys, clocks, pruning, clients and, with --issuer, that the server answers at its issuer.',
    )
    .option('--issuer <url>', 'also send requests to the server at its issuer, through its proxy')
    .addHelpText(
      'after',
      '\nExits with 1 when there is an error, with 0 for warnings.\n\n' +
        'JSON: {"findings": [{"code", "severity", "message", "remedy"}], "errors": 0, "warnings": 1}',
    )
    .action(examine);
}

const CHECKED = {
  stored:
    'Checked: the database and its tables, the clock, pruning, keys and clients. With --issuer also what the server answers.',
  all: 'Checked: the database and its tables, the clock, pruning, keys, clients, and what the server answers at its issuer.',
} as const;

const examine = withSession(
  async ({ administration }, { issuer }: Options) => {
    const findings = await administration.check(issuer === undefined ? {} : { issuer });
    const errors = findings.filter(({ severity }) => severity === 'error').length;
    const warnings = findings.length - errors;
    return {
      json: { findings, errors, warnings },
      text: [
        ...findings.map(toText),
        `${CHECKED[issuer === undefined ? 'stored' : 'all']}\n${summary(errors, warnings)}`,
      ].join('\n\n'),
      exitCode: errors > 0 ? 1 : 0,
    };
  },
  { tables: false },
);

function toText({ code, message, remedy, severity }: Finding): string {
  const indent = ' '.repeat(9);
  return [`${severity.padEnd(9)}${code}`, wrap(indent, message), wrap(`${indent}→ `, remedy)].join('\n');
}

function summary(errors: number, warnings: number): string {
  if (errors + warnings === 0) return 'No findings.';
  return `${counted(errors, 'error')}, ${counted(warnings, 'warning')}.`;
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
