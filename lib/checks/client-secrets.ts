import { now } from '../clock.ts';
import type { ClientSecret, Finding } from '../contracts.ts';
import { NamedClients } from './check.ts';
import type { ClientLook } from './clients.ts';

// In seconds: two weeks to give an app a new secret.
const SOON = 14 * 86_400;

/** A confidential client needs a secret that lives. One that has expired beside one that lives harms nobody. */
export function lookAtSecrets(): ClientLook {
  const without = new NamedClients();
  const expiring = new NamedClients();
  return {
    see({ client, secrets }) {
      if (!client.confidential) return;
      const ends = Math.max(0, ...secrets.map(endOf));
      if (ends <= now()) without.add(client, secrets.length > 0 ? `since ${day(ends)}` : '');
      else if (ends <= now() + SOON) expiring.add(client, day(ends));
    },
    findings: () => [...withoutSecret(without), ...expiresSoon(expiring)],
  };
}

function endOf({ expiresAt }: ClientSecret): number {
  return expiresAt ?? Infinity;
}

function day(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

function withoutSecret(clients: NamedClients): Finding[] {
  if (clients.count === 0) return [];
  return [
    {
      code: 'client_without_secret',
      severity: 'warning',
      message: `Confidential clients without a secret that is valid get no tokens: ${clients.toString()}.`,
      remedy: 'Add one with `gatehouse client secrets add`, or disable the client.',
    },
  ];
}

function expiresSoon(clients: NamedClients): Finding[] {
  if (clients.count === 0) return [];
  return [
    {
      code: 'secret_expires_soon',
      severity: 'warning',
      message: `The last valid secret expires within two weeks: ${clients.toString()}.`,
      remedy: 'Add another with `gatehouse client secrets add` and give it to the app.',
    },
  ];
}
