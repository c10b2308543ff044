import type { Parameters, Requests, Variable } from './requests.ts';

const VARIABLES: Readonly<Record<Variable, string>> = {
  secret: 'process.env.CLIENT_SECRET',
  assertion: 'process.env.CLIENT_ASSERTION',
  code: 'code',
  verifier: 'verifier',
  challenge: "createHash('sha256').update(verifier).digest('base64url')",
  deviceCode: 'device.device_code',
};

/** A module for Node.js, without packages. */
export function javascript({ authorize, device, identityUrl, token, tokenUrl }: Requests): string {
  const request = `await post(${literal(tokenUrl)}, ${object(token)})`;
  const parts = [
    authorize &&
      `import { createHash, randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline/promises';`,
    device && "import { setTimeout } from 'node:timers/promises';",
    `async function post(url, fields) {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
  return response.json();
}`,
    authorize &&
      `const verifier = randomBytes(32).toString('base64url');
const query = new URLSearchParams(${object(authorize.parameters)});
console.log(\`Authorize the app at ${authorize.url}?\${query}\`);
const terminal = createInterface({ input: process.stdin, output: process.stdout });
const address = await terminal.question('Then paste the address that the browser was sent to: ');
terminal.close();
const code = new URL(address).searchParams.get('code');`,
    device
      ? `const device = await post(${literal(device.url)}, ${object(device.parameters)});
console.log(\`Connect the device at \${device.verification_uri_complete}\`);
let { interval } = device;
let tokens;
do {
  await setTimeout(interval * 1000);
  tokens = ${request.replaceAll('\n', '\n  ')};
  if (tokens.error === 'slow_down') interval += 5;
} while (tokens.error === 'authorization_pending' || tokens.error === 'slow_down');`
      : `const tokens = ${request};`,
    'console.log(tokens);',
    identityUrl &&
      `const headers = { Authorization: \`Bearer \${tokens.access_token}\` };
const identity = await fetch(${literal(identityUrl)}, { headers });
console.log(await identity.json());`,
  ];
  return parts.filter((part) => part !== undefined).join('\n\n');
}

function object(parameters: Parameters): string {
  const members = Object.entries(parameters).map(
    ([name, value]) =>
      `  ${name}: ${typeof value === 'string' ? literal(value) : VARIABLES[value.variable]},\n`,
  );
  return `{\n${members.join('')}}`;
}

// JSON is a literal of JavaScript, whatever the text.
function literal(text: string): string {
  return JSON.stringify(text);
}
