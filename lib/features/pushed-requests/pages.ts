import type { FeaturePages } from '../../../interactions/feature-pages.ts';
import type { PageRequest } from '../../../interactions/page-request.ts';
import { de, en } from './texts.ts';
import type { PushedRequestText } from './texts.ts';
import { PATH } from './types.ts';

/** What the pages say of pushed requests: in the developer area, and where one cannot be used any more. */
export function pushedRequestPages(): FeaturePages<PushedRequestText> {
  return {
    views: {},
    texts: { en, de },
    facts: {
      connect(request, { grantType }) {
        if (grantType !== 'authorization_code') return undefined;
        const { server, text } = request as PageRequest<PushedRequestText>;
        return { label: text['pushedRequests.url'], url: server.origin + server.basePath + PATH };
      },
    },
  };
}
