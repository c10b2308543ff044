import type { ActivityTexts } from '../../record/event-rules.ts';
import type { OPENID_EVENTS } from './events.ts';

/** The sentences of the pages of OpenID Connect. */
export const en = {
  'lastLogout.user.told': 'Told of your logout on {label}.',
  'lastLogout.user.due': 'It is being told of your logout of {label}.',
  'lastLogout.user.again': 'Not told yet of your logout of {label}: {problem}. This server tries again.',
  'lastLogout.user.failed': 'Could not be told of your logout of {label}: {problem}.',
  'lastLogout.developer.told': 'The app was told on {label}',
  'lastLogout.developer.due': 'The app is being told of that of {label}',
  'lastLogout.developer.again':
    'The app was not told yet of that of {label}: {problem}. This server tries again.',
  'lastLogout.developer.failed': 'The app could not be told of that of {label}: {problem}',
  'lastLogout.problem.status': 'it answered with the status {number}',
  'lastLogout.problem.timeout': 'it did not answer in time',
  'lastLogout.problem.noUri': 'it has no address for logouts any more',
  'lastLogout.problem.unreachable': 'it could not be reached',
  'apps.lastLogout': 'Last logout',
  'aboutUser.openid': 'Sign you in, and recognize you the next time',
  'aboutUser.profile': 'See your name, your picture and your language',
  'aboutUser.email': 'See your email address',
  'activity.logout_undelivered': 'The app could not be told that a person was signed out',
  'apps.backchannelLogoutUri': 'Address for logouts',
  'apps.backchannelLogoutUriHint':
    'Optional. This server tells it when a person is signed out (OpenID Connect Back-Channel Logout).',
  'apps.postLogoutRedirectUris': 'Addresses after logout',
  'apps.postLogoutRedirectUrisHint':
    'Optional, one per line. Where people may be sent when they sign out by the app.',
  'apps.problem.postLogoutRedirectUris': 'Address after logout {number}: {problem}',
  'apps.problem.logout_uri_form':
    'Give it as https://host/path of at most {most} characters of ASCII, without a user name, a password and a fragment.',
  'apps.problem.logout_uri_private': 'Give a public address, which this server can connect to.',
  'apps.signIn': 'Sign in with the accounts here',
  'apps.signInHint':
    'Paste this into its settings, with the secret of this app. Register its redirect URI here, with your own host:',
  'apps.discoveryUrl': 'Discovery URL (OpenID Connect)',
} as const satisfies ActivityTexts<typeof OPENID_EVENTS>;

export type OpenIdText = keyof typeof en;

export const de: Readonly<Record<OpenIdText, string>> = {
  'lastLogout.user.told': 'Über Ihre Abmeldung informiert am {label}.',
  'lastLogout.user.due': 'Wird über Ihre Abmeldung vom {label} informiert.',
  'lastLogout.user.again':
    'Noch nicht über Ihre Abmeldung vom {label} informiert: {problem}. Der Server versucht es wieder.',
  'lastLogout.user.failed': 'Konnte über Ihre Abmeldung vom {label} nicht informiert werden: {problem}.',
  'lastLogout.developer.told': 'Die App wurde informiert am {label}',
  'lastLogout.developer.due': 'Die App wird über die vom {label} informiert',
  'lastLogout.developer.again':
    'Die App ist über die vom {label} noch nicht informiert: {problem}. Der Server versucht es wieder.',
  'lastLogout.developer.failed': 'Die App konnte über die vom {label} nicht informiert werden: {problem}',
  'lastLogout.problem.status': 'Die App hat mit dem Status {number} geantwortet',
  'lastLogout.problem.timeout': 'Die App hat nicht rechtzeitig geantwortet',
  'lastLogout.problem.noUri': 'Die App hat keine Adresse für Abmeldungen mehr',
  'lastLogout.problem.unreachable': 'Die App war nicht erreichbar',
  'apps.lastLogout': 'Letzte Abmeldung',
  'aboutUser.openid': 'Sie anmelden und beim nächsten Mal wiedererkennen',
  'aboutUser.profile': 'Ihren Namen, Ihr Bild und Ihre Sprache sehen',
  'aboutUser.email': 'Ihre E-Mail-Adresse sehen',
  'activity.logout_undelivered': 'Der App konnte nicht mitgeteilt werden, dass eine Person abgemeldet wurde',
  'apps.backchannelLogoutUri': 'Adresse für Abmeldungen',
  'apps.backchannelLogoutUriHint':
    'Optional. Dieser Server teilt ihr mit, wenn eine Person abgemeldet wird (OpenID Connect Back-Channel Logout).',
  'apps.postLogoutRedirectUris': 'Adressen nach dem Abmelden',
  'apps.postLogoutRedirectUrisHint':
    'Freiwillig, eine pro Zeile. Dorthin darf es gehen, wenn sich jemand über die App abmeldet.',
  'apps.problem.postLogoutRedirectUris': 'Adresse nach dem Abmelden {number}: {problem}',
  'apps.problem.logout_uri_form':
    'Geben Sie sie als https://host/pfad an, mit höchstens {most} Zeichen aus ASCII, ohne Benutzernamen, Passwort und #.',
  'apps.problem.logout_uri_private':
    'Geben Sie eine öffentliche Adresse an, die dieser Server erreichen kann.',
  'apps.signIn': 'Mit den Konten von hier anmelden',
  'apps.signInHint':
    'Fügen Sie dies in die Einstellungen ein, mit dem Secret dieser App. Registrieren Sie hier die Redirect-URI, mit Ihrem eigenen Host:',
  'apps.discoveryUrl': 'Discovery-URL (OpenID Connect)',
};
