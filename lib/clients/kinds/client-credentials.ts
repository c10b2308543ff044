import type { ClientKind } from '../../contracts/client-kinds.ts';

/** A program that acts for itself (RFC 6749 section 4.4). */
export const CLIENT_CREDENTIALS: ClientKind = {
  name: 'client_credentials',
  grantTypes: ['client_credentials'],
  actsFor: 'itself',
  required: { confidential: 'secret_required' },
  forbidden: {
    redirectUris: 'redirect_uri_unused',
    native: 'authorization_code_only',
    firstParty: 'authorization_code_only',
    'lifetimes.refreshToken': 'authorization_code_only',
    'lifetimes.refreshTokenAbsolute': 'authorization_code_only',
  },
  texts: {
    en: {
      name: 'Client credentials',
      hint: 'A program on a server acts for itself, without a person. It has permissions of its own.',
      'step.token': 'Get a token.',
    },
    de: {
      name: 'Client Credentials',
      hint: 'Ein Programm auf einem Server handelt für sich selbst, ohne eine Person. Es hat eigene Berechtigungen.',
      'step.token': 'Holen Sie ein Token.',
    },
  },
  command: {
    about: 'for the client itself',
    example: '--name Reports --grant-type client_credentials --permission view_schools',
  },
  examples: [{ title: 'A program on a server, for itself: client credentials', proof: 'secret' }],
  firstCall: {
    curl: [
      {
        about: 'token',
        code: `ANSWER=$(curl -sS {{tokenUrl}} \\
  -d grant_type=client_credentials \\
  --data-urlencode resource={{resource}} \\
  {{proof}}
  --data-urlencode client_id={{clientId}}); echo "$ANSWER"`,
      },
    ],
    javascript: {
      code: `const tokens = await post({{tokenUrl}}, {
  grant_type: 'client_credentials',
  resource: {{resource}},
  client_id: {{clientId}},
  {{proof}}
});`,
    },
    python: {
      code: `tokens = send({{tokenUrl}}, {
    "grant_type": "client_credentials",
    "resource": {{resource}},
    "client_id": {{clientId}},
    {{proof}}
})`,
    },
  },
};
