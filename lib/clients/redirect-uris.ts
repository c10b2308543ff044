import type { Client, Consent, Mistake } from '../contracts/index.ts';
import { isLoopback } from '../contracts/loopback.ts';
import { vouchedForBy } from '../contracts/trust.ts';
import { isAgreedHost } from './consents.ts';

/** In characters. */
export const LONGEST_URI = 2000;

// A reversed domain name, as in RFC 8252 section 7.1, or a word, as editors use it: a URI with a word has to have a path.
const PRIVATE_USE = /^(?:[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:|[a-z][a-z0-9+-]*:\/)/i;

/**
 * The mistake in a redirect URI; `undefined` when it can be registered (RFC 6749 section 3.1.2, RFC 9700 sections 2.1 and 2.6,
 * RFC 8252 section 7).
 */
export function redirectUriMistake(uri: unknown, { native }: { native: boolean }): Mistake | undefined {
  if (typeof uri !== 'string' || uri === '') return ['uri_empty'];
  if (uri.length > LONGEST_URI) return ['uri_length', { most: LONGEST_URI }];
  if (/[^\x21-\x7e]/.test(uri)) return ['uri_characters'];
  const url = URL.parse(uri);
  if (!url) return ['uri_relative'];
  if (uri.includes('#')) return ['uri_fragment'];
  if (uri.includes('*')) return ['uri_wildcard'];
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/\/[^/?]*@/i.test(uri)) {
    return ['uri_credentials'];
  }
  if (url.protocol === 'https:' || url.protocol === 'http:') {
    if (!/^https?:\/\/[^/\\]/.test(uri)) return ['uri_form'];
    return native ? nativeWebMistake(url) : webMistake(url);
  }
  if (!native) return ['uri_scheme'];
  return PRIVATE_USE.test(uri) && isPrivateUse(url.protocol.slice(0, -1))
    ? undefined
    : ['uri_private_scheme'];
}

// Over http, the network can read the authorization code, except on a loopback address.
function webMistake({ protocol, hostname }: URL): Mistake | undefined {
  return protocol === 'http:' && !isLoopback(hostname) ? ['uri_insecure'] : undefined;
}

// The engine applies these rules too, and would refuse every request of a client that breaks them.
function nativeWebMistake({ protocol, hostname }: URL): Mistake | undefined {
  const isEngineLoopback = ENGINE_LOOPBACK.has(hostname);
  if (protocol === 'http:' && !isEngineLoopback) return ['uri_http_host'];
  if (protocol === 'https:' && isEngineLoopback) return ['uri_https_loopback'];
  return undefined;
}

const ENGINE_LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The redirect host that a consent is stored for: the origin of the redirect URI. `undefined` when consent is asked for each time,
 * because the redirect stays on the user's device, or its URI is not a registered one.
 */
export function redirectHost(
  redirectUri: string,
  { redirectUris }: Pick<Client, 'redirectUris'>,
): string | undefined {
  return redirectUris.includes(redirectUri) && !isOnDevice(redirectUri)
    ? new URL(redirectUri).origin
    : undefined;
}

/**
 * Whether the server may redirect a browser to a client where the user has not answered a page for it. Anybody can make a link to this
 * server, and anybody can register what it leads to (RFC 9700 section 4.11.2). So the server redirects a browser to a client for which
 * nobody vouches only where the user has agreed to be sent to that host, and to any other client only where more than a link asks for it.
 *
 * @param uri - a redirect URI, or another URI that is registered for redirects
 * @param asked.consent - the consent of the user who is signed in
 * @param asked.registered - all URIs that the client may name here. @default its redirect URIs
 * @param asked.isKnown - whether a user is signed in, or the request is one that only the client makes: with an ID token, or without any
 * page
 */
export function mayRedirect(
  client: Client,
  uri: string,
  {
    consent,
    isKnown,
    registered = client.redirectUris,
  }: {
    readonly consent: Pick<Consent, 'hosts'> | undefined;
    readonly isKnown: boolean;
    readonly registered?: readonly string[];
  },
): boolean {
  if (vouchedForBy(client) !== 'nobody') return isKnown;
  const host = redirectHost(uri, { redirectUris: registered });
  return host !== undefined && isAgreedHost(consent, host);
}

/**
 * Whether a redirect URI leads to a program on the user's device (RFC 8252 section 7), by a private-use scheme or a loopback address,
 * over https too. Another program may take the scheme or the port the next time, and would then get what the user has given to the first
 * program (RFC 8252 section 8.6).
 */
export function isOnDevice(redirectUri: string): boolean {
  const url = URL.parse(redirectUri);
  return url !== null && (!/^https?:$/.test(url.protocol) || ON_DEVICE.test(url.hostname));
}

// More than the hosts for which http is accepted: names below `localhost` (RFC 6761 section 6.3), the address of all interfaces, to
// which systems connect as to loopback, and both mapped into IPv6.
const ON_DEVICE =
  /^(?:(?:.+\.)?localhost\.?|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\]|\[::ffff:(?:7f[\da-f]{2}:[\da-f]{1,4}|0:0)\])$/;

/*
 * Schemes that no app may have for itself: a redirect to one of them would not open the app, but run text in the browser, read a
 * file, or begin a call.
 */

/** The permanent schemes of IANA's registry "Uniform Resource Identifier (URI) Schemes" (RFC 7595). */
const PERMANENT = `
  aaa aaas about acap acct cap cid coap coap+tcp coap+ws coaps coaps+tcp coaps+ws crid data dav dict dns dtn example file ftp geo go
  gopher h323 http https iax icap im imap info ipn ipp ipps iris iris.beep iris.lwz iris.xpc iris.xpcs jabber ldap leaptofrogans
  mailto mid msrp msrps mtqp mupdate news nfs ni nih nntp opaquelocktoken pkcs11 pop pres reload rtsp rtsps rtspu secret-token
  service session shttp sieve sip sips sms snmp soap.beep soap.beeps stun stuns tag tel telnet tftp thismessage tip tn3270 turn
  turns tv urn vemmi vnc ws wss xcon xcon-userid xmlrpc.beep xmlrpc.beeps xmpp z39.50r z39.50s`;

/** The schemes of browsers. */
const OF_BROWSERS = `
  blob brave chrome chrome-error chrome-extension chrome-native chrome-search chrome-untrusted devtools edge extension feed
  filesystem firefox isolated-app jar javascript livescript mhtml mk mocha moz-extension moz-icon opera page-icon pcast resource
  safari-extension safari-web-extension vbs vbscript view-source vivaldi webcal wyciwyg x-safari-http x-safari-https`;

/** The schemes of operating systems, and of protocols that these open with a program of their own. */
const OF_SYSTEMS = `
  afp android-app app-prefs callto cifs content facetime facetime-audio fax finger git hcp help intent irc ircs itms itms-apps
  itms-appss itms-services ldaps magnet maps market message modem mms nntps onenote prefs rdp res rlogin rsync scp search shell sftp
  smb snews ssh svn telprompt vmrc wais x-apple-reminder x-man-page`;

const TAKEN: ReadonlySet<string> = new Set(
  [PERMANENT, OF_BROWSERS, OF_SYSTEMS].flatMap((names) => names.trim().split(/\s+/)),
);

// The schemes of Windows and Office, such as `ms-settings:` and `search-ms:`, and of macOS and iOS.
const OF_SYSTEMS_PATTERN = /^(?:ms-|microsoft[-.]|x-apple[-.]|apple-|windows[-.])|-ms$/;

/**
 * Whether an app may have a scheme for itself (RFC 8252 section 7.1), because no protocol, browser or system uses it. One letter is a
 * drive on Windows.
 *
 * @param scheme - in lower case, without the colon
 */
function isPrivateUse(scheme: string): boolean {
  return scheme.length > 1 && !TAKEN.has(scheme) && !OF_SYSTEMS_PATTERN.test(scheme);
}

/**
 * The largest number of redirect URIs of a client. An app that registers itself gets fewer, which limits the work that its request
 * causes.
 */
export const MOST_REDIRECT_URIS = { registered: 100, selfRegistered: 20 } as const;
