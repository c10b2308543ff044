import { Option } from 'commander';
import type { Command } from 'commander';
import type { LaravelPassportSource } from '../types.ts';

import { UsageError } from '../../../cli/failure.ts';

/** The options of the commands that read the database of a Laravel app. */
export interface SourceOptions {
  readonly prefix?: string;
  readonly source?: string;
}

export function addSourceOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--source <url>', 'the database of the Laravel app; nothing is written to it').env(
        'PASSPORT_DATABASE_URL',
      ),
    )
    .option('--prefix <text>', 'the prefix of the tables of the Laravel app');
}

/** Opens the database of the Laravel app, and closes it after the work. */
export async function withSource<T>(
  { prefix, source: url }: SourceOptions,
  work: (source: LaravelPassportSource) => Promise<T>,
): Promise<T> {
  if (!url) {
    throw new UsageError(
      'Give the database of the Laravel app: --source URL, or the environment variable PASSPORT_DATABASE_URL.',
    );
  }
  const { laravelPassportSource } = await import('../source/index.ts');
  const source = laravelPassportSource(url, { prefix, readOnly: true });
  try {
    return await work(source);
  } finally {
    await source.close();
  }
}
