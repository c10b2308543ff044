import type { Command } from 'commander';

import { clientText, secretsText } from '../client-text.ts';
import { findClient } from '../find-client.ts';
import { clientJson, secretJson } from '../json-forms.ts';
import type { Report } from '../report.ts';
import { opened } from '../session.ts';
import type { Session } from '../session.ts';

/** `gatehouse client show` */
export function addClientShow(client: Command): void {
  client
    .command('show')
    .argument('<client-id>')
    .summary('show a client and its secrets')
    .description('Show a client and its secrets, without their values: nobody has them.')
    .addHelpText(
      'after',
      '\nJSON: {"client": {"client_id", "name", "grant_type", "redirect_uris", "confidential", "native", "first_party",\n' +
        '  "scopes" (null: all), "roles", "permissions", "owner_id", "disabled", "created_at", "updated_at"},\n' +
        '  "secrets": [{"id", "label", "hint", "created_at", "expires_at", "last_used_at"}]}',
    )
    .action(opened(show));
}

async function show(session: Session, _options: object, id: string): Promise<Report> {
  const client = await findClient(session, id);
  const secrets = await session.administration.clients.secrets(id);
  return {
    json: { client: clientJson(client), secrets: secrets.map(secretJson) },
    text: [clientText(client), ...(client.confidential ? [secretsText(secrets)] : [])].join('\n\n'),
  };
}
