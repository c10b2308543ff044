import type { ClientKind, ConnectedApp, ExampleStep, FirstCall } from '../contracts/client-kinds.ts';

export type { ExampleStep } from '../contracts/client-kinds.ts';

/** How to get a token and make a first call, in one language. */
export interface Example {
  readonly language: 'curl' | 'JavaScript' | 'Python';
  readonly steps: readonly ExampleStep[];
}

/** The purpose of each step that all kinds share, in English. The pages also have these sentences in their other languages. */
export const STEPS = {
  'apps.firstCall.secret': 'This line asks for the secret of the app, and puts it into the environment.',
  'apps.firstCall.assertion':
    'This line asks for an assertion that the app has signed, and puts it into the environment.',
  'apps.firstCall.call': 'Call the API: it says who the token speaks for.',
  'apps.firstCall.javascript': 'Save this as first-call.mjs, and run it with node first-call.mjs.',
  'apps.firstCall.python': 'Save this as first_call.py, and run it with python3 first_call.py.',
} as const;

const PROMPTS = { secret: 'Secret', assertion: 'Assertion' } as const;
const JWT = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** The lines that authenticate a client, by language. */
const PROOFS = {
  curl: {
    secret: ['--data-urlencode "client_secret=$CLIENT_SECRET" \\'],
    assertion: [
      `-d client_assertion_type=${JWT} \\`,
      '--data-urlencode "client_assertion=$CLIENT_ASSERTION" \\',
    ],
    none: [],
  },
  javascript: {
    secret: ['client_secret: process.env.CLIENT_SECRET,'],
    assertion: [`client_assertion_type: '${JWT}',`, 'client_assertion: process.env.CLIENT_ASSERTION,'],
    none: [],
  },
  python: {
    secret: ['"client_secret": os.environ["CLIENT_SECRET"],'],
    assertion: [`"client_assertion_type": "${JWT}",`, '"client_assertion": os.environ["CLIENT_ASSERTION"],'],
    none: [],
  },
} as const;

const CALL = `ACCESS_TOKEN=$(echo "$ANSWER" | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
curl -sS {{identityUrl}} -H "Authorization: Bearer $ACCESS_TOKEN"`;

const JAVASCRIPT = {
  before: `async function post(url, fields) {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
  return response.json();
}`,
  after: `console.log(tokens);`,
  call: `const headers = { Authorization: \`Bearer \${tokens.access_token}\` };
const identity = await fetch({{identityUrl}}, { headers });
console.log(await identity.json());`,
};

const PYTHON = {
  before: `import json, os, urllib.error, urllib.parse, urllib.request

def send(url, fields=None, token=None):
    data = urllib.parse.urlencode(fields).encode() if fields else None
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        return json.load(urllib.request.urlopen(urllib.request.Request(url, data, headers)))
    except urllib.error.HTTPError as error:
        return json.load(error)`,
  after: 'print(tokens)',
  call: 'print(send({{identityUrl}}, token=tokens["access_token"]))',
};

/**
 * How to get a token and make a first call as this app: with curl, in JavaScript and in Python.
 *
 * @param lines - how clients of the kind get a token
 */
export function firstCall(kind: ClientKind, app: ConnectedApp, lines: FirstCall): readonly Example[] {
  const { apiUrl, clientId, issuer, proof, redirectUri, resource, scope } = app;
  const endpoint = issuer + (kind.endpoint ?? '');
  const { curl, javascript, python, values } = lines;
  const known: Values = {
    clientId,
    endpoint,
    redirectUri,
    resource,
    scope,
    tokenUrl: `${issuer}/oauth/token`,
    identityUrl: apiUrl === undefined ? undefined : `${apiUrl}/identity`,
    ...values?.({ ...app, endpoint }),
  };
  const inShell = (code: string): string => fill(code, known, { quote: quoted, proof: PROOFS.curl[proof] });
  // A JSON string is a literal in both languages, whatever the text.
  const program = (language: 'javascript' | 'python', ...parts: readonly (string | undefined)[]): string =>
    parts
      .filter((part) => part !== undefined && !(part.includes('{{identityUrl}}') && apiUrl === undefined))
      .map((part) => fill(part!, known, { quote: JSON.stringify, proof: PROOFS[language][proof] }))
      .join('\n\n');
  // A program reads the credential from its environment, so that none of its files contains it.
  const first = proof === 'none' ? [] : [{ about: `apps.firstCall.${proof}`, code: askFor(PROMPTS[proof]) }];
  const call = apiUrl === undefined ? [] : [{ about: 'apps.firstCall.call', code: inShell(CALL) }];
  const steps = curl.map(({ about, code }) => ({
    about: `kind.${kind.name}.step.${about}`,
    code: inShell(code),
  }));
  const { after, before, call: callJs } = JAVASCRIPT;
  const js = program('javascript', javascript.imports, before, javascript.code, after, callJs);
  const py = program('python', python.imports, PYTHON.before, python.code, PYTHON.after, PYTHON.call);
  return [
    { language: 'curl', steps: [...first, ...steps, ...call] },
    { language: 'JavaScript', steps: [...first, { about: 'apps.firstCall.javascript', code: js }] },
    { language: 'Python', steps: [...first, { about: 'apps.firstCall.python', code: py }] },
  ];
}

/** A line that asks for an access token, and calls an API with it. */
export function callWithToken(url: string): string {
  return `printf 'Token: '; read -r TOKEN; curl -sS ${quoted(url)} -H "Authorization: Bearer $TOKEN"`;
}

/**
 * The scopes of an example: those of the API that the app is registered for or, where it may ask for every one, one that users cannot
 * decline. Without a scope a token may do all that its user may.
 */
export function scopeOfExample(
  ofApi: Iterable<readonly [name: string, scope: { readonly optional?: boolean | undefined }]>,
  registered?: readonly string[],
): string | undefined {
  const all = [...ofApi];
  const [[one] = []] = all.filter(([, { optional }]) => !optional).concat(all);
  const names = registered ? registered.filter((name) => all.some(([known]) => known === name)) : [one];
  return names.join(' ') || undefined;
}

type Values = Readonly<Record<string, string | undefined>>;

function fill(
  template: string,
  values: Values,
  { proof, quote }: { readonly quote: (text: string) => string; readonly proof: readonly string[] },
): string {
  return template
    .split('\n')
    .flatMap((line) => {
      if (line.trim() === '{{proof}}') return proof.map((own) => line.replace('{{proof}}', () => own));
      const names = Array.from(line.matchAll(/\{\{(\w+)\}\}/g), ([, name]) => name!);
      if (names.some((name) => values[name] === undefined)) return [];
      return [line.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => quote(values[name]!))];
    })
    .join('\n');
}

/** A line that reads from the terminal must be the last of its step, because it would read the lines after it. */
function askFor(prompt: string): string {
  const name = `CLIENT_${prompt.toUpperCase()}`;
  return `printf '${prompt}: '; read -r ${name}; export ${name}`;
}

/** A quoted word of a POSIX shell, because a redirect URI may contain characters with a meaning in a shell. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
