import type { Client, ClientSecret } from 'koa-gatehouse';
import type { SigningKey } from 'koa-gatehouse/types';

import { furtherValues } from '../clients/further-fields.ts';
import { toDate } from '../contracts/duration.ts';
import type { Seconds } from '../contracts/duration.ts';
import { clientFieldsOf } from '../features/known.ts';
import { keysJson } from './client-keys.ts';

/** The output of a command. */
export interface Report {
  /** The document that `--json` prints. */
  readonly json: Readonly<Record<string, unknown>>;
  /** The output without `--json`. */
  readonly text: string;
  /** Notes, which are written to stderr; with `--json`, they are the member `notes` of the document. */
  readonly notes?: readonly string[];
  /** @default 0 */
  readonly exitCode?: number;
}

/** Prints a report and sets the exit code of the process. */
export function print({ json, text, notes, exitCode = 0 }: Report, { asJson }: { asJson: boolean }): void {
  process.exitCode = exitCode;
  if (asJson) {
    process.stdout.write(`${JSON.stringify(notes ? { ...json, notes } : json, undefined, 2)}\n`);
    return;
  }
  process.stdout.write(`${text}\n`);
  for (const note of notes ?? []) process.stderr.write(`Note: ${note}\n`);
}

/**
 * A client as `--json` prints it. A member is `null` when the client has no such value, has all scopes, or has the lifetimes of the
 * server.
 */
export function clientJson(client: Client): Record<string, unknown> {
  return {
    client_id: client.id,
    name: client.name,
    client_uri: client.clientUri ?? null,
    logo: client.logoHash ?? null,
    verified: client.verified,
    source: client.source,
    grant_type: client.grantType,
    redirect_uris: client.redirectUris,
    ...Object.fromEntries(
      furtherValues(client, clientFieldsOf(undefined).all).map(([{ column }, value]) => [
        column,
        value ?? null,
      ]),
    ),
    confidential: client.confidential,
    ...keysJson(client),
    native: client.native,
    first_party: client.firstParty,
    scopes: client.scopes ?? null,
    roles: client.roles,
    permissions: client.permissions,
    owner_id: client.ownerId ?? null,
    disabled: client.disabled,
    disabled_by: client.disabledBy ?? null,
    lifetimes: {
      access_token: client.lifetimes.accessToken ?? null,
      refresh_token: client.lifetimes.refreshToken ?? null,
      refresh_token_absolute: client.lifetimes.refreshTokenAbsolute ?? null,
    },
    created_at: timeJson(client.createdAt),
    updated_at: timeJson(client.updatedAt),
  };
}

/** A secret as `--json` prints it, without its hash. */
export function secretJson(secret: ClientSecret): Record<string, unknown> {
  return {
    id: secret.id,
    label: secret.label,
    hint: secret.hint,
    created_at: timeJson(secret.createdAt),
    expires_at: timeJson(secret.expiresAt),
    last_used_at: timeJson(secret.lastUsedAt),
  };
}

/** A signing key as `--json` prints it. */
export function keyJson(key: SigningKey): Record<string, unknown> {
  return {
    kid: key.id,
    use: key.use,
    status: key.status,
    created_at: timeJson(key.createdAt),
    // The first key of a storage has the `activeAt` 0, so that it signs whatever the clocks of the nodes say.
    active_at: timeJson(Math.max(key.activeAt, key.createdAt)),
    retires_at: timeJson(key.retiresAt),
  };
}

/** A time in ISO 8601; `null` for none. */
export function timeJson(seconds: Seconds | undefined): string | null {
  return seconds === undefined ? null : toDate(seconds).toISOString();
}

/** A time such as `2026-08-01 12:34`, for a column or a line whose title says UTC. */
export function timeText(seconds: Seconds | undefined, none: string = '–'): string {
  return timeJson(seconds)?.slice(0, 16).replace('T', ' ') ?? none;
}
