import { authorizationCodeCall } from '../../clients/kinds/authorization-code.ts';
import type { FirstCall } from '../../contracts/client-kinds.ts';
import { PATH } from './types.ts';

/** The lines for a first call of an app that has to push its requests. */
export const PUSHING: FirstCall = pushingCall({ javascript: '', python: '' });

// Each assertion is used once (RFC 7523 section 3), and the app authenticates twice.
const { curl, ...programs } = pushingCall({
  javascript: `
const signed = createInterface({ input: process.stdin, output: process.stdout });
process.env.CLIENT_ASSERTION = await signed.question('Sign another assertion, and paste it: ');
signed.close();`,
  python: `
os.environ["CLIENT_ASSERTION"] = input("Sign another assertion, and paste it: ")`,
});

/** The same for an app that authenticates with a key. */
export const PUSHING_WITH_KEY: FirstCall = {
  ...programs,
  curl: curl.toSpliced(1, 0, {
    about: 'assertion',
    code: "printf 'Assertion: '; read -r CLIENT_ASSERTION; export CLIENT_ASSERTION",
  }),
};

/** @param further - lines that follow the address */
function pushingCall(further: Readonly<Record<'javascript' | 'python', string>>): FirstCall {
  return authorizationCodeCall({
    values: ({ clientId, endpoint, issuer }) => ({
      pushUrl: issuer + PATH,
      address: `${endpoint}?${new URLSearchParams({ client_id: clientId }).toString()}&request_uri=`,
    }),
    curl: `PUSHED=$(curl -sS {{pushUrl}} \\
  -d response_type=code \\
  --data-urlencode redirect_uri={{redirectUri}} \\
  --data-urlencode resource={{resource}} \\
  --data-urlencode scope={{scope}} \\
  -d code_challenge_method=S256 \\
  --data-urlencode "code_challenge=$CODE_CHALLENGE" \\
  {{proof}}
  --data-urlencode client_id={{clientId}}); echo "$PUSHED"
echo {{address}}$(echo "$PUSHED" | sed 's/.*"request_uri":"\\([^"]*\\)".*/\\1/')`,
    javascript: `const pushed = await post({{pushUrl}}, {
  response_type: 'code',
  redirect_uri: {{redirectUri}},
  resource: {{resource}},
  scope: {{scope}},
  code_challenge_method: 'S256',
  code_challenge: challenge,
  client_id: {{clientId}},
  {{proof}}
});
console.log('Authorize the app at ' + {{address}} + pushed.request_uri);${further.javascript}`,
    python: `pushed = send({{pushUrl}}, {
    "response_type": "code",
    "redirect_uri": {{redirectUri}},
    "resource": {{resource}},
    "scope": {{scope}},
    "code_challenge_method": "S256",
    "code_challenge": challenge,
    "client_id": {{clientId}},
    {{proof}}
})
print("Authorize the app at " + {{address}} + pushed["request_uri"], flush=True)${further.python}`,
  });
}
