import type { ClientGrantType } from '../../contracts/index.ts';
import { firstCall } from '../../first-call/first-call.ts';
import type { ConnectedApp } from '../../first-call/requests.ts';
import { STEPS } from '../../first-call/steps.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';

/** What a reader replaces by the client id of an app; a viewer does it itself after "Authorize". */
export const CLIENT_ID = 'YOUR_CLIENT_ID';

const KINDS = [
  {
    title: 'A program on a server, for itself: client credentials',
    app: { grantType: 'client_credentials', proof: 'secret' },
  },
  {
    title: 'An app on a server, for the people who sign in to it: authorization code',
    app: { grantType: 'authorization_code', proof: 'secret' },
  },
  {
    title: 'An app in a browser, on a computer or a phone: authorization code, without a secret',
    app: { grantType: 'authorization_code', proof: 'none' },
  },
  {
    title: 'A command line or a device without a browser: device code',
    app: { grantType: 'device_code', proof: 'none' },
  },
] as const satisfies readonly { title: string; app: Pick<ConnectedApp, 'grantType' | 'proof'> }[];

/** Where apps get access to an API. */
export interface ApiAccess {
  readonly issuer: string;
  /** The URL of the API. */
  readonly baseUrl: string;
  /** The API as tokens name it. */
  readonly resource: string;
  /** The kinds of clients that the server has something for. */
  readonly clientKinds: { has(kind: ClientGrantType): boolean };
}

/** How an app of each kind gets a token and makes a first call. It needs no script. */
export function firstCallSection({ baseUrl, clientKinds, issuer, resource }: ApiAccess): Html {
  const known = {
    issuer,
    clientId: CLIENT_ID,
    redirectUri: 'https://app.example/callback',
    resource: resource === issuer ? undefined : resource,
    apiUrl: baseUrl,
  };
  return html`<section class="first-call" aria-labelledby="first-call">
    <h2 id="first-call">Get a token and make a first call</h2>
    <p>
      Every request carries an access token. With an app that is registered at this platform, these lines work
      as they are, after <code>${CLIENT_ID}</code> and the redirect URI have been replaced by those of the
      app. What kind of app is it?
    </p>
    ${KINDS.filter(({ app }) => clientKinds.has(app.grantType)).map(
      ({ app, title }) =>
        html`<details name="kind">
          <summary>${title}</summary>
          ${firstCall({ ...known, ...app }).map(
            ({ language, steps }) =>
              html`<details name="${app.grantType}-${app.proof}">
                <summary>${language}</summary>
                <ol>
                  ${steps.map(
                    ({ about, code }) =>
                      html`<li>
                        <p>${STEPS[about]}</p>
                        <pre tabindex="0"><code>${code}</code></pre>
                      </li> `,
                  )}
                </ol>
              </details>`,
          )}
        </details>`,
    )}
  </section>`;
}

/** Its style; the variables are those of the page. */
export const FIRST_CALL_STYLE = `
.first-call summary { padding: 0.5rem 0; cursor: pointer; }
.first-call > details { border-bottom: 1px solid var(--line); }
.first-call > details > summary { font-weight: 600; }
.first-call details details, .first-call ol { padding-left: 1.25rem; }
.first-call li { margin: 0.75rem 0; }
.first-call pre { overflow-x: auto; overflow-wrap: normal; }
`;
