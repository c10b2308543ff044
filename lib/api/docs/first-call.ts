import { textsOfKinds } from '../../contracts/client-kinds.ts';
import type { ClientKind, ClientKinds } from '../../contracts/client-kinds.ts';
import { firstCall, scopeOfExample, STEPS } from '../../first-call/first-call.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';
import type { Platform } from './look.ts';

/** The placeholder that a reader replaces by the client id of an app. A viewer replaces it itself after "Authorize". */
export const CLIENT_ID = 'YOUR_CLIENT_ID';

/** Where apps get access to an API. */
export interface ApiAccess extends Platform {
  /** The API as tokens name it. */
  readonly resource: string;
  readonly scopes: ReadonlyMap<string, { readonly optional?: boolean | undefined }>;
  readonly clientKinds: Pick<ClientKinds, 'on' | 'firstCallOf'>;
}

/** How an app of each kind gets a token and makes a first call. It needs no script. */
export function firstCallSection({ baseUrl, clientKinds, issuer, resource, scopes }: ApiAccess): Html {
  const known = {
    issuer,
    clientId: CLIENT_ID,
    redirectUri: 'https://app.example/callback',
    resource: resource === issuer ? undefined : resource,
    scope: scopeOfExample(scopes),
    apiUrl: baseUrl,
  };
  const kinds = byExamples(clientKinds.on.values());
  const sentences: Readonly<Record<string, string>> = { ...STEPS, ...textsOfKinds(kinds, 'en') };
  return html`<section class="first-call" aria-labelledby="first-call">
    <h2 id="first-call">Get a token and make a first call</h2>
    <p>
      Every request carries an access token. With an app that is registered at this platform, these lines work
      as they are, after <code>${CLIENT_ID}</code>, the redirect URI and the scopes have been replaced by
      those of the app. What kind of app is it?
    </p>
    ${kinds
      .flatMap((kind) => kind.examples.map((example) => ({ kind, ...example })))
      .map(
        ({ kind, proof, title }) =>
          html`<details name="kind">
            <summary>${title}</summary>
            ${firstCall(kind, { ...known, proof }, clientKinds.firstCallOf(kind)).map(
              ({ language, steps }) =>
                html`<details name="${kind.name}-${proof}">
                  <summary>${language}</summary>
                  <ol>
                    ${steps.map(
                      ({ about, code }) =>
                        html`<li>
                          <p>${sentences[about]}</p>
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

/** Sorts the kinds that act for themselves first, because they are the simplest. */
function byExamples(kinds: Iterable<ClientKind>): readonly ClientKind[] {
  return [...kinds].toSorted(
    (one, other) => Number(one.actsFor === 'users') - Number(other.actsFor === 'users'),
  );
}

/** The style of the section. The variables are those of the page. */
export const FIRST_CALL_STYLE = `
.first-call summary { padding: 0.5rem 0; cursor: pointer; }
.first-call > details { border-bottom: 1px solid var(--line); }
.first-call > details > summary { font-weight: 600; }
.first-call details details, .first-call ol { padding-left: 1.25rem; }
.first-call li { margin: 0.75rem 0; }
.first-call pre { overflow-x: auto; overflow-wrap: normal; }
`;
