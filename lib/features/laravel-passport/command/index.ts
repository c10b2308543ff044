import type { Command } from 'commander';

import { addClientImport } from './client-import.ts';
import { addStatus } from './status.ts';

/** `gatehouse client import`, and `gatehouse laravel-passport ...` */
export function addPassportCommands(program: Command): void {
  addClientImport(program.commands.find((command) => command.name() === 'client')!);
  addStatus(program);
}
