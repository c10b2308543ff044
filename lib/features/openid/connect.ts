import type { AppSettings } from '../../../interactions/feature-pages.ts';
import { quoted } from '../../first-call/first-call.ts';

/** An app with a secret, as the settings describe it. */
export interface SignInApp {
  readonly issuer: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** What the users know the platform by. */
  readonly brand: string;
}

/** The URL of the metadata (OpenID Connect Discovery 1.0 section 4). */
export function discoveryUrl(issuer: string): string {
  return `${issuer}/.well-known/openid-configuration`;
}

const SCOPE = 'openid profile email';

/**
 * The settings for common products. They do not contain the secret: people paste it where it is asked for, or set it in the environment.
 */
export function signIn({ brand, clientId, issuer, redirectUri }: SignInApp): readonly AppSettings[] {
  const id = JSON.stringify(clientId);
  return [
    {
      product: 'Moodle',
      redirectUri: 'https://moodle.example/admin/oauth2callback.php',
      code: `Service base URL: ${issuer}
Client ID: ${clientId}
Scopes included in a login request: ${SCOPE}
Scopes included in a login request for offline access: ${SCOPE} offline_access`,
    },
    {
      product: 'Nextcloud',
      redirectUri: 'https://cloud.example/apps/user_oidc/code',
      code: `printf 'Secret: '; read -r CLIENT_SECRET
php occ user_oidc:provider ${quoted(new URL(issuer).hostname)} \\
  --clientid=${quoted(clientId)} \\
  --clientsecret="$CLIENT_SECRET" \\
  --discoveryuri=${quoted(discoveryUrl(issuer))} \\
  --scope=${quoted(SCOPE)} \\
  --mapping-uid=sub --mapping-display-name=name --mapping-email=email`,
    },
    {
      product: 'Grafana',
      redirectUri: 'https://grafana.example/login/generic_oauth',
      code: `[auth.generic_oauth]
enabled = true
client_id = ${id}
client_secret = $__env{CLIENT_SECRET}
scopes = ${SCOPE}
auth_url = ${issuer}/oauth/authorize
token_url = ${issuer}/oauth/token
api_url = ${issuer}/oauth/userinfo
use_pkce = true`,
    },
    {
      product: 'oauth2-proxy',
      redirectUri: 'https://app.example/oauth2/callback',
      code: `# The secret is in OAUTH2_PROXY_CLIENT_SECRET.
provider = "oidc"
oidc_issuer_url = ${JSON.stringify(issuer)}
client_id = ${id}
redirect_url = ${JSON.stringify(redirectUri)}
scope = ${JSON.stringify(SCOPE)}
code_challenge_method = "S256"
email_domains = ["*"]`,
    },
    {
      product: 'Auth.js',
      redirectUri: 'https://app.example/api/auth/callback/platform',
      code: `providers: [
  {
    id: 'platform',
    name: ${JSON.stringify(brand)},
    type: 'oidc',
    issuer: ${JSON.stringify(issuer)},
    clientId: ${id},
    clientSecret: process.env.CLIENT_SECRET,
    checks: ['pkce', 'state', 'nonce'],
  },
]`,
    },
  ];
}
