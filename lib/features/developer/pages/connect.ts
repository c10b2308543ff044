import type { Client } from '../../../contracts/index.ts';
import { firstCall } from '../../../first-call/first-call.ts';
import { pagesOfFeatures } from '../../../../interactions/feature-pages.ts';
import type { DeveloperRequest } from './request.ts';
import type { Connect } from './view-types.ts';

/** The URLs that an app needs, how it gets a token and makes a first call, and how it signs users in. */
export function connectOf(client: Client, request: DeveloperRequest): Connect {
  const { flow, text } = request;
  const { apiUrl, basePath, clientKinds, origin } = flow;
  const { confidential, grantType, id, keys, redirectUris } = client;
  const issuer = origin + basePath;
  const [redirectUri = ''] = redirectUris;
  const kind = clientKinds.all.get(grantType);
  const proof = confidential ? (keys ? 'assertion' : 'secret') : 'none';
  return {
    endpoint:
      kind?.endpoint === undefined
        ? undefined
        : { label: text[`kind.${grantType}.endpoint`]!, url: issuer + kind.endpoint },
    tokenUrl: `${issuer}/oauth/token`,
    examples: kind ? firstCall(kind, { issuer, clientId: id, proof, redirectUri, apiUrl }) : [],
    further: pagesOfFeatures(flow).flatMap((feature) => feature.facts?.connect(request, client) ?? []),
  };
}
