import type { ClientKind, FirstCall } from '../../contracts/client-kinds.ts';

/** How an app makes the address at which a person authorizes it. */
export interface AddressLines {
  /** Prints it. `$CODE_CHALLENGE` is the challenge (RFC 7636). */
  readonly curl: string;
  /** Prints it after "Authorize the app at". The value `challenge` is the challenge. */
  readonly javascript: string;
  readonly python: string;
  readonly values?: FirstCall['values'];
}

/** The lines for a first call of an app that users authorize. */
export function authorizationCodeCall({ curl, javascript, python, values }: AddressLines): FirstCall {
  return {
    ...(values && { values }),
    curl: [
      {
        about: 'authorize',
        code: `CODE_VERIFIER=$(openssl rand -hex 32)
CODE_CHALLENGE=$(printf %s "$CODE_VERIFIER" | openssl dgst -sha256 -binary | openssl base64 | tr '+/' '-_' | tr -d '=')
${curl}
printf 'Address: '; read -r ADDRESS`,
      },
      {
        about: 'code',
        code: `CODE=$(echo "$ADDRESS" | sed 's/.*[?&]code=\\([^&#]*\\).*/\\1/')
ANSWER=$(curl -sS {{tokenUrl}} \\
  -d grant_type=authorization_code \\
  --data-urlencode "code=$CODE" \\
  --data-urlencode "code_verifier=$CODE_VERIFIER" \\
  --data-urlencode redirect_uri={{redirectUri}} \\
  {{proof}}
  --data-urlencode client_id={{clientId}}); echo "$ANSWER"`,
      },
    ],
    javascript: {
      imports: `import { createHash, randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline/promises';`,
      code: `const verifier = randomBytes(32).toString('base64url');
const challenge = createHash('sha256').update(verifier).digest('base64url');
${javascript}
const terminal = createInterface({ input: process.stdin, output: process.stdout });
const address = await terminal.question('Then paste the address that the browser was sent to: ');
terminal.close();

const tokens = await post({{tokenUrl}}, {
  grant_type: 'authorization_code',
  code: new URL(address).searchParams.get('code'),
  code_verifier: verifier,
  redirect_uri: {{redirectUri}},
  client_id: {{clientId}},
  {{proof}}
});`,
    },
    python: {
      imports: 'import base64, hashlib, secrets',
      code: `verifier = secrets.token_urlsafe(32)
digest = hashlib.sha256(verifier.encode()).digest()
challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
${python}
address = input("Then paste the address that the browser was sent to: ")

tokens = send({{tokenUrl}}, {
    "grant_type": "authorization_code",
    "code": urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["code"][0],
    "code_verifier": verifier,
    "redirect_uri": {{redirectUri}},
    "client_id": {{clientId}},
    {{proof}}
})`,
    },
  };
}

/** An app that users authorize in a browser (RFC 6749 section 4.1). */
export const AUTHORIZATION_CODE: ClientKind = {
  name: 'authorization_code',
  grantTypes: ['authorization_code'],
  actsFor: 'users',
  required: { redirectUris: 'redirect_uri_missing' },
  forbidden: { roles: 'client_credentials_only', permissions: 'client_credentials_only' },
  endpoint: '/oauth/authorize',
  texts: {
    en: {
      name: 'Authorization code',
      hint: 'People sign in and authorize it. It acts for them, with their permissions.',
      endpoint: 'Authorization URL',
      'step.authorize':
        'Make the address at which a person authorizes the app, and open it in a browser. Afterwards the browser is sent to the redirect URI: copy that whole address, which the last line asks for.',
      'step.code': 'Exchange the code in it for tokens.',
    },
    de: {
      name: 'Authorization Code',
      hint: 'Personen melden sich an und erlauben den Zugriff. Die App handelt für sie, mit deren Berechtigungen.',
      endpoint: 'Autorisierungs-URL',
      'step.authorize':
        'Erzeugen Sie die Adresse, unter der eine Person der App den Zugriff erlaubt, und öffnen Sie sie in einem Browser. Danach wird der Browser zur Redirect-URI geleitet: Kopieren Sie diese ganze Adresse; die letzte Zeile fragt danach.',
      'step.code': 'Tauschen Sie den Code darin gegen Tokens.',
    },
  },
  command: {
    about: 'for users',
    example: '--name Portal --grant-type authorization_code --redirect-uri https://portal.example/callback',
  },
  examples: [
    { title: 'An app on a server, for the people who sign in to it: authorization code', proof: 'secret' },
    {
      title: 'An app in a browser, on a computer or a phone: authorization code, without a secret',
      proof: 'none',
    },
  ],
  firstCall: authorizationCodeCall({
    values: ({ clientId, endpoint, redirectUri, resource, scope }) => ({
      address: `${endpoint}?${new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        ...(resource !== undefined && { resource }),
        ...(scope !== undefined && { scope }),
        code_challenge_method: 'S256',
      }).toString()}`,
    }),
    curl: `echo {{address}}"&code_challenge=$CODE_CHALLENGE"`,
    javascript: `console.log('Authorize the app at ' + {{address}} + '&code_challenge=' + challenge);`,
    python: `print("Authorize the app at " + {{address}} + "&code_challenge=" + challenge)`,
  }),
};
