import type { Parameters, Requests, Variable } from './requests.ts';

const VARIABLES: Readonly<Record<Variable, string>> = {
  secret: 'os.environ["CLIENT_SECRET"]',
  assertion: 'os.environ["CLIENT_ASSERTION"]',
  code: 'code',
  verifier: 'verifier',
  challenge: 'challenge',
  deviceCode: 'device["device_code"]',
};

/** A program for Python 3, with its standard library only. */
export function python({ authorize, app, device, identityUrl, token, tokenUrl }: Requests): string {
  const request = `send(${literal(tokenUrl)}, ${dictionary(token)})`;
  const modules = [
    authorize && ['base64', 'hashlib'],
    'json',
    app.proof === 'none' ? undefined : 'os',
    authorize && 'secrets',
    device && 'time',
    ['urllib.error', 'urllib.parse', 'urllib.request'],
  ];
  const parts = [
    modules
      .flat()
      .filter((name) => name !== undefined)
      .map((name) => `import ${name}`)
      .join('\n'),
    `
def send(url, fields=None, token=None):
    data = urllib.parse.urlencode(fields).encode() if fields else None
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        return json.load(urllib.request.urlopen(urllib.request.Request(url, data, headers)))
    except urllib.error.HTTPError as error:
        return json.load(error)
`,
    authorize &&
      `verifier = secrets.token_urlsafe(32)
digest = hashlib.sha256(verifier.encode()).digest()
challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
query = urllib.parse.urlencode(${dictionary(authorize.parameters)})
print("Authorize the app at ${authorize.url}?" + query)
address = input("Then paste the address that the browser was sent to: ")
code = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["code"][0]`,
    device
      ? `device = send(${literal(device.url)}, ${dictionary(device.parameters)})
print("Connect the device at", device["verification_uri_complete"], flush=True)
interval = device["interval"]
while True:
    time.sleep(interval)
    tokens = ${request.replaceAll('\n', '\n    ')}
    if tokens.get("error") == "slow_down":
        interval += 5
    elif tokens.get("error") != "authorization_pending":
        break`
      : `tokens = ${request}`,
    'print(tokens)',
    identityUrl && `print(send(${literal(identityUrl)}, token=tokens["access_token"]))`,
  ];
  return parts.filter((part) => part !== undefined).join('\n\n');
}

function dictionary(parameters: Parameters): string {
  const members = Object.entries(parameters).map(
    ([name, value]) =>
      `    ${literal(name)}: ${typeof value === 'string' ? literal(value) : VARIABLES[value.variable]},\n`,
  );
  return `{\n${members.join('')}}`;
}

// JSON is a literal of Python too; characters outside of the first plane stay as they are.
function literal(text: string): string {
  return JSON.stringify(text);
}
