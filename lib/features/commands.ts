import type { Command } from 'commander';

import { addTokenCommands } from './personal-tokens/command.ts';

/** The commands of all features of this package. */
export const FEATURE_COMMANDS: readonly ((program: Command) => void)[] = [addTokenCommands];
