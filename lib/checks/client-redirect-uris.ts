import { NamedClients } from './check.ts';
import type { ClientLook } from './clients.ts';

/** Codes that travel over http can be read on the way. Loopback addresses never leave the machine. */
export function lookAtRedirectUris(): ClientLook {
  const insecure = new NamedClients();
  return {
    see({ client }) {
      const uri = client.redirectUris.find(leavesTheMachineInClear);
      if (uri !== undefined) insecure.add(client, uri);
    },
    findings() {
      if (insecure.count === 0) return [];
      return [
        {
          code: 'redirect_uri_insecure',
          severity: 'warning',
          message: `Authorization codes are sent over http, where others can read them: ${insecure.toString()}.`,
          remedy: 'Serve those apps over https and change the redirect URI with `gatehouse client update`.',
        },
      ];
    },
  };
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function leavesTheMachineInClear(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && !LOOPBACK.test(url.hostname);
}
