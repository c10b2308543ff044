import type { Command } from 'commander';

import { addClientChanges } from './client-changes.ts';
import { addClientCreate } from './client-create.ts';
import { addClientImport } from './client-import.ts';
import { addClientList, addClientShow } from './client-list.ts';
import { addClientPermissions } from './client-permissions.ts';
import { addClientSecrets } from './client-secrets.ts';
import { addClientUpdate } from './client-update.ts';

/** `gatehouse client ...` */
export function addClientCommands(program: Command): void {
  const client = program
    .command('client')
    .helpCommand(false)
    .summary('register, list, change and import clients')
    .description('Register, list and change clients, and import them.');
  addClientCreate(client);
  addClientList(client);
  addClientShow(client);
  addClientUpdate(client);
  addClientPermissions(client);
  addClientSecrets(client);
  addClientChanges(client);
  addClientImport(client);
}
