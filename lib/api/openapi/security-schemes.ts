import type { OpenApiPart } from './document.ts';

/** How to get an access token, and how to send it. */
export function securitySchemes(
  issuer: string,
  scopes: ReadonlyMap<string, { readonly description: string }>,
): OpenApiPart {
  const words = Object.fromEntries(Array.from(scopes, ([name, { description }]) => [name, description]));
  const tokenUrl = `${issuer}/oauth/token`;
  return {
    oauth2: {
      type: 'oauth2',
      description: 'An access token for a person or for an app.',
      flows: {
        authorizationCode: {
          authorizationUrl: `${issuer}/oauth/authorize`,
          tokenUrl,
          refreshUrl: tokenUrl,
          scopes: words,
        },
        clientCredentials: { tokenUrl, scopes: words },
      },
    },
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'An access token that you have got already.',
    },
  };
}
