import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { Pages } from '../contracts/index.ts';
import { POSTED } from './authorization-parameters.ts';
import { engineRequestOf } from './request.ts';

/** Lets the pages post an authorization response to the client (OAuth 2.0 Form Post Response Mode), where they can. */
export function postResponses(provider: Provider, pages: Pages): void {
  if (!pages.formPost) return;
  provider.registerResponseMode(POSTED, async (ctx: KoaContextWithOIDC, action, response) => {
    const request = engineRequestOf(ctx);
    const { client, host, mustRestart } = request;
    // The response is a redirect to the same URL (see corrections.ts).
    if (mustRestart) return;
    request.hasPage = true;
    ctx.status = 200;
    const fields = Object.entries(response).map(([name, value]): [string, string] => [name, String(value)]);
    await pages.formPost!(host, { client: client!.client, action, fields: Object.fromEntries(fields) });
  });
}
