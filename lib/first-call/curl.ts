import type { ConnectedApp, Parameters, Requests, Variable } from './requests.ts';
import type { ExampleStep } from './steps.ts';

const VARIABLES: Readonly<Record<Variable, string>> = {
  secret: 'CLIENT_SECRET',
  assertion: 'CLIENT_ASSERTION',
  code: 'CODE',
  verifier: 'CODE_VERIFIER',
  challenge: 'CODE_CHALLENGE',
  deviceCode: 'DEVICE_CODE',
};

// The lines are for a POSIX shell. One that reads from the terminal is the last of its step: it would read the lines behind it.

/** Puts the credential into the environment, and not into the history of the shell. */
export function proofSteps(kind: ConnectedApp['proof']): readonly ExampleStep[] {
  if (kind === 'none') return [];
  const name = VARIABLES[kind];
  const prompt = kind === 'secret' ? 'Secret' : 'Assertion';
  return [{ about: kind, code: `printf '${prompt}: '; read -r ${name}; export ${name}` }];
}

/** Gets a token, and calls the API with it. */
export function curlSteps(requests: Requests): readonly ExampleStep[] {
  const { identityUrl } = requests;
  if (identityUrl === undefined) return tokenSteps(requests);
  const call = `${fromAnswer('ACCESS_TOKEN', 'access_token')}
curl -sS ${quoted(identityUrl)} -H "Authorization: Bearer $ACCESS_TOKEN"`;
  return [...tokenSteps(requests), { about: 'call', code: call }];
}

function tokenSteps({ authorize, device, token, tokenUrl }: Requests): readonly ExampleStep[] {
  const request = answerOf(tokenUrl, token);
  if (authorize) return authorizationSteps(authorize.url, authorize.parameters, request);
  if (!device) return [{ about: 'token', code: request }];
  return [
    { about: 'device', code: answerOf(device.url, device.parameters) },
    { about: 'poll', code: `${fromAnswer('DEVICE_CODE', 'device_code')}\n${request}` },
  ];
}

function authorizationSteps(url: string, parameters: Parameters, request: string): readonly ExampleStep[] {
  const known = Object.entries(parameters).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  const address = `${quoted(`${url}?${new URLSearchParams(known).toString()}`)}"&code_challenge=$CODE_CHALLENGE"`;
  return [
    {
      about: 'authorize',
      code: `CODE_VERIFIER=$(openssl rand -hex 32)
CODE_CHALLENGE=$(printf %s "$CODE_VERIFIER" | openssl dgst -sha256 -binary | openssl base64 | tr '+/' '-_' | tr -d '=')
echo ${address}
printf 'Address: '; read -r ADDRESS`,
    },
    {
      about: 'code',
      code: `CODE=$(echo "$ADDRESS" | sed 's/.*[?&]code=\\([^&#]*\\).*/\\1/')\n${request}`,
    },
  ];
}

/** Sends a form, and shows the answer. */
function answerOf(url: string, parameters: Parameters): string {
  const fields = Object.entries(parameters).map(([name, value]) =>
    typeof value === 'string'
      ? `${/^[\w.:-]*$/.test(value) ? '-d' : '--data-urlencode'} ${quoted(`${name}=${value}`)}`
      : `--data-urlencode "${name}=$${VARIABLES[value.variable]}"`,
  );
  return `ANSWER=$(${[`curl -sS ${quoted(url)}`, ...fields].join(' \\\n  ')}); echo "$ANSWER"`;
}

function fromAnswer(variable: string, member: string): string {
  return `${variable}=$(echo "$ANSWER" | sed 's/.*"${member}":"\\([^"]*\\)".*/\\1/')`;
}

/** A quoted word of a POSIX shell, because a redirect URI may contain characters with a meaning in a shell. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
