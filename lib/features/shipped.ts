import type { Command } from 'commander';

import { agents } from './agents/index.ts';
import { devices } from './devices/index.ts';
import type { Feature } from './feature.ts';
import { openid } from './openid/index.ts';
import { personalTokens } from './personal-tokens/index.ts';
import { trustedIssuers } from './trusted-issuers/index.ts';

const SHIPPED: readonly Feature[] = [agents(), devices(), openid(), personalTokens(), trustedIssuers()];

/** The given features, and those of this package that are not given: their stored rows exist although they are off. */
export function withStored(given: readonly Feature[]): readonly Feature[] {
  const names = new Set(given.map(({ name }) => name));
  return [...given, ...SHIPPED.filter(({ name }) => !names.has(name))];
}

/** The commands of the features, imported by the command line alone. Each function adds them to the program. */
export const FEATURE_COMMANDS: readonly (() => Promise<(program: Command) => void>)[] = [
  async () => (await import('./laravel-passport/command/index.ts')).addPassportCommands,
  async () => (await import('./personal-tokens/command.ts')).addTokenCommands,
  async () => (await import('./trusted-issuers/command.ts')).addIssuerCommands,
];
