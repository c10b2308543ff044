import type { ClientKind } from '../../contracts/client-kinds.ts';
import { DEVICE_GRANT } from './types.ts';

/** Command lines and devices without a browser (RFC 8628). */
export const DEVICE_KIND: ClientKind = {
  name: 'device_code',
  grantTypes: [DEVICE_GRANT],
  actsFor: 'users',
  required: {},
  forbidden: {
    redirectUris: 'redirect_uri_unused',
    native: 'authorization_code_only',
    // Anybody can begin a request of a device, so users are asked about each one, even about that of the platform's own app.
    firstParty: 'authorization_code_only',
    roles: 'client_credentials_only',
    permissions: 'client_credentials_only',
  },
  // A command line or a television cannot keep a secret.
  isPublic: true,
  endpoint: '/oauth/device_authorization',
  texts: {
    en: {
      name: 'Device code',
      hint: 'For a device or command line: people enter a code that it shows. It acts for them, with their permissions.',
      endpoint: 'Device authorization URL',
      'step.device':
        'Begin. Open the address verification_uri_complete of the answer in a browser, sign in, and connect the device.',
      'step.poll':
        'Then get the tokens. With authorization_pending nobody has answered yet: send this again.',
    },
    de: {
      name: 'Device Code',
      hint: 'Für ein Gerät oder eine Befehlszeile: Personen geben einen Code ein, den die App anzeigt. Sie handelt für sie, mit deren Berechtigungen.',
      endpoint: 'URL der Geräteautorisierung',
      'step.device':
        'Beginnen Sie. Öffnen Sie die Adresse verification_uri_complete der Antwort in einem Browser, melden Sie sich an und verbinden Sie das Gerät.',
      'step.poll':
        'Holen Sie dann die Tokens. Bei authorization_pending hat noch niemand geantwortet: Senden Sie dies noch einmal.',
    },
  },
  command: {
    about: 'for users of a command line or device',
    example: '--name "School CLI" --grant-type device_code --public',
  },
  examples: [{ title: 'A command line or a device without a browser: device code', proof: 'none' }],
  firstCall: {
    curl: [
      {
        about: 'device',
        code: `ANSWER=$(curl -sS {{endpoint}} \\
  --data-urlencode resource={{resource}} \\
  --data-urlencode scope={{scope}} \\
  {{proof}}
  --data-urlencode client_id={{clientId}}); echo "$ANSWER"`,
      },
      {
        about: 'poll',
        code: `DEVICE_CODE=$(echo "$ANSWER" | sed 's/.*"device_code":"\\([^"]*\\)".*/\\1/')
ANSWER=$(curl -sS {{tokenUrl}} \\
  -d grant_type=${DEVICE_GRANT} \\
  --data-urlencode "device_code=$DEVICE_CODE" \\
  {{proof}}
  --data-urlencode client_id={{clientId}}); echo "$ANSWER"`,
      },
    ],
    javascript: {
      imports: "import { setTimeout } from 'node:timers/promises';",
      code: `const device = await post({{endpoint}}, {
  resource: {{resource}},
  scope: {{scope}},
  client_id: {{clientId}},
  {{proof}}
});
console.log(\`Connect the device at \${device.verification_uri_complete}\`);

let { interval } = device;
let tokens;
do {
  await setTimeout(interval * 1000);
  tokens = await post({{tokenUrl}}, {
    grant_type: '${DEVICE_GRANT}',
    device_code: device.device_code,
    client_id: {{clientId}},
    {{proof}}
  });
  if (tokens.error === 'slow_down') interval += 5;
} while (tokens.error === 'authorization_pending' || tokens.error === 'slow_down');`,
    },
    python: {
      imports: 'import time',
      code: `device = send({{endpoint}}, {
    "resource": {{resource}},
    "scope": {{scope}},
    "client_id": {{clientId}},
    {{proof}}
})
print("Connect the device at", device["verification_uri_complete"], flush=True)

interval = device["interval"]
while True:
    time.sleep(interval)
    tokens = send({{tokenUrl}}, {
        "grant_type": "${DEVICE_GRANT}",
        "device_code": device["device_code"],
        "client_id": {{clientId}},
        {{proof}}
    })
    if tokens.get("error") == "slow_down":
        interval += 5
    elif tokens.get("error") != "authorization_pending":
        break`,
    },
  },
};
