import type { Texts } from '../../../interactions/text.ts';
import { STEPS } from '../../first-call/first-call.ts';
import type { CORE_EVENTS } from '../../record/core-events.ts';
import type { ActivityTexts } from '../../record/event-rules.ts';

/** The sentences of the developer area, and of the pages of apps. */
export const en = {
  'page.apps': 'Your apps',
  'page.allApps': 'All apps',

  'apps.lead': 'The apps that you have registered.',
  'apps.allLead':
    'The apps of all people, also those that nobody has registered. Your own are marked “Yours”.',
  'apps.new': 'New app',
  'apps.search': 'Search by the beginning of the name or of a word in it, or by client ID',
  'apps.searchSubmit': 'Search',
  'apps.searchClear': 'Show all',
  'apps.none': 'No apps yet',
  'apps.noneLead':
    'An app gets tokens here, for the people who sign in to it or for itself. Create one to get its client ID.',
  'apps.noneFound': 'No app has a word that begins with this in its name, or this client ID',
  'apps.disabled': 'Disabled',
  'apps.own': 'Yours',
  'apps.created': 'Created',
  'apps.kind': 'Kind',
  'apps.owner': 'Owner',
  'apps.clientId': 'Client ID',
  'apps.secret': 'Client secret',

  'apps.name': 'Name',
  'apps.nameHint': 'People see it when they authorize the app.',
  'apps.clientUri': 'Homepage',
  'apps.clientUriHint': 'Optional. People see its host, such as app.example, when they authorize the app.',
  'apps.verified': 'Verified',
  'apps.verifiedHint':
    'You vouch for the name, the homepage and the logo: people see that they are verified. A change of one of them, or of the redirect URIs, takes this away.',
  'apps.verified.true':
    'Yes. A change of the name, the homepage, the logo or the redirect URIs takes this away.',
  'apps.verified.false': 'No. People see the host of the homepage as not verified, and no logo.',
  'apps.logo': 'Logo',
  'apps.logoHint':
    'A PNG or JPEG file of at most 64 KiB, and 1024 pixels wide and high. People see it once an administrator has verified the app.',
  'apps.logoSave': 'Save the logo',
  'apps.logoRemove': 'Remove the logo',
  'apps.grantType': 'How does it get its tokens?',
  'apps.grantTypeHint': 'This cannot be changed later.',
  'apps.forPeople': 'For apps with authorization code',
  'apps.redirectUris': 'Redirect URIs',
  'apps.redirectUrisHint':
    'One per line, such as https://app.example/callback. People return to exactly these addresses.',
  'apps.place': 'Where does it run?',
  'apps.kind.server.name': 'Authorization code, on a server',
  'apps.kind.browser.name': 'Authorization code, in a browser',
  'apps.kind.device.name': 'Authorization code, on a device',
  'apps.place.server': 'On a server',
  'apps.place.serverHint': 'It can keep a secret (confidential).',
  'apps.place.browser': 'In a browser',
  'apps.place.browserHint': 'It cannot keep a secret and uses PKCE (public).',
  'apps.place.device': 'On a computer or phone',
  'apps.place.deviceHint':
    'An installed app without a secret, with PKCE (public, native). Redirects to 127.0.0.1 match on any port, and schemes such as com.example.app: are allowed.',
  'apps.firstParty': 'First-party',
  'apps.firstPartyHint': 'It belongs to the platform itself: people are not asked to authorize it.',
  'apps.firstPartyFixed':
    'This app belongs to the platform itself. Only an administrator changes its name, its homepage, its logo, its redirect URIs, and where it runs.',
  'apps.source': 'Registered',
  'apps.callsItself': 'Calls itself',
  'apps.create': 'Create app',
  'apps.createdHeading': '{client} is created',
  'apps.secretOnce': 'Copy the secret now. It is shown only once and cannot be read again.',
  'apps.connect': 'Get a token and make a first call',
  'apps.tokenUrl': 'Token URL',
  ...STEPS,
  'apps.givePermissions': 'Give it permissions',
  'apps.goToApp': 'Go to the app',

  'apps.tab': 'Pages of this app',
  'apps.tab.overview': 'Overview',
  'apps.tab.settings': 'Settings',
  'apps.tab.permissions': 'Permissions',
  'apps.tab.secrets': 'Secrets',
  'apps.tab.keys': 'Keys',
  'apps.tab.activity': 'Activity',
  'apps.isDisabled': 'This app is disabled: it gets no tokens, and those that it has do not work.',
  'apps.cannotEnable': 'Only an administrator can enable it again.',

  'apps.stop': 'Revoke, disable or delete',
  'apps.revoke': 'Revoke all tokens',
  'apps.revokeHint':
    'Every token that it has stops working for good, its own and those of the people who use it.',
  'apps.revokeHeading': 'Revoke all tokens of {client}?',
  'apps.revokeLead':
    'Every token that it has stops working for good, its own and those of the people who use it. With one of its secrets, new tokens can be obtained: if a secret has leaked, replace it first.',
  'apps.disable': 'Disable',
  'apps.disableHeading': 'Disable {client}?',
  'apps.disableLead': 'It gets no tokens, and those that it has stop working, until it is enabled again.',
  'apps.enable': 'Enable',
  'apps.enableHint': 'It gets tokens again, and those that have not expired work again.',
  'apps.delete': 'Delete',
  'apps.deleteHint': 'It is gone for good, with its secrets and the authorizations that people gave it.',
  'apps.deleteHeading': 'Delete {client}?',
  'apps.deleteLead':
    'The app is gone for good, with its secrets and the authorizations that people gave it. Its tokens stop working.',

  'apps.done.created': 'The app is created.',
  'apps.done.createdBefore':
    'This form was sent before: the app is created, and listed here. If you do not have its secret, add another one on its Secrets page.',
  'apps.done.saved': 'Saved.',
  'apps.done.disabled': 'The app is disabled.',
  'apps.done.tokensRevoked': 'All tokens of the app are revoked.',
  'apps.done.enabled': 'The app is enabled.',
  'apps.done.deleted': 'The app is deleted.',
  'apps.done.secretAddedBefore':
    'This form was sent before: the secret is added, and listed here. If you do not have its value, delete it and add another one.',
  'apps.done.secretDeleted': 'The secret is deleted.',
  'apps.done.keysRemoved': 'The keys are removed.',

  'apps.problem.name_length': 'Give a name of 1 to {most} characters.',
  'apps.problem.client_uri_form':
    'Give the homepage as https://host/path of at most {most} characters of ASCII, without a user name, a password and a fragment.',
  'apps.problem.logo_form': 'Choose a PNG or JPEG file of at most {most} pixels in width and height.',
  'apps.problem.logo_size': 'Choose a file of at most {most} bytes.',
  'apps.problem.unregistered_app':
    'Nobody has registered this app, so it has no homepage, no logo, and is not verified.',
  'apps.problem.control_characters':
    'The name has characters that cannot be seen. Type it again without them.',
  'apps.problem.grant_type_unknown': 'Choose how the app gets its tokens.',
  'apps.problem.administrators_only': 'Only an administrator decides which apps are first-party or verified.',
  'apps.problem.first_party_fixed': 'Only an administrator changes this of a first-party app.',
  'apps.problem.name_reserved':
    'This name, or one that looks like it, belongs to the platform. Choose another one.',
  'apps.problem.from_source': 'This comes from the document of the app, and is changed there.',
  'apps.problem.unregistered_first_party':
    'Nobody has registered this app, so people are always asked to authorize it.',
  'apps.problem.unregistered_scopes':
    'Nobody has registered this app, so it cannot have every scope. Choose some.',
  'apps.problem.disabled_live':
    'A disabled app cannot be deleted when its document would let it back in. Leave it disabled, or enable it first.',
  'apps.problem.name_mixed_scripts':
    'The name mixes letters of several scripts, some of which look the same. Use those of one script.',
  'apps.problem.too_many_apps': 'You have {most} apps, the most that one person can have. Delete one first.',
  'apps.problem.redirect_uri_missing': 'Give at least one redirect URI.',
  'apps.problem.too_many_redirect_uris': 'Give at most {most} redirect URIs.',
  'apps.problem.redirectUri': 'Redirect URI {number}: {problem}',
  'apps.problem.uri_length': 'It is longer than {most} characters.',
  'apps.problem.uri_characters':
    'It has spaces, or characters that are not ASCII. Encode them, such as %20 for a space.',
  'apps.problem.uri_relative': 'Give the whole address, such as https://app.example/callback.',
  'apps.problem.uri_fragment': 'It must not have a fragment, the part that begins with #.',
  'apps.problem.uri_wildcard':
    'An asterisk stands for nothing else here. Give each address on a line of its own.',
  'apps.problem.uri_credentials': 'It must not have a user name or a password.',
  'apps.problem.uri_form': 'Write it as https://host/path.',
  'apps.problem.uri_scheme': 'It must begin with https:. Other schemes are for apps on a computer or phone.',
  'apps.problem.uri_insecure':
    'It must begin with https:. Only this computer’s own address, such as http://localhost, works without.',
  'apps.problem.uri_private_scheme':
    'Use a scheme of your own, such as com.example.app:/callback. This one is that of a protocol, a browser or a system.',
  'apps.problem.uri_http_host':
    'On a computer or phone, http: is for 127.0.0.1, [::1] and localhost. Everything else needs https:.',
  'apps.problem.uri_https_loopback': 'Use http: for this computer’s own address.',
  'apps.problem.unknown_scope': 'The scope “{name}” is no longer there. Check the list and save again.',
  'apps.problem.not_assignable': 'You can give an app only what you hold yourself, which “{name}” is not.',
  'apps.problem.label_form': 'Give a label of at most {most} characters, without any that cannot be seen.',
  'apps.problem.too_many_secrets':
    'The app has {most} secrets, the most that there can be. Delete one first.',
  'apps.problem.public_client': 'This app runs where it cannot keep a secret.',
  'apps.problem.key': 'Key {number}: {problem}',
  'apps.problem.keys_not_accepted': 'This server does not accept keys.',
  'apps.problem.jwks_form': 'This is not a JSON Web Key Set: an object with a list of keys.',
  'apps.problem.keys_count': 'Give 1 to {most} keys.',
  'apps.problem.keys_size': 'Give at most {most} characters.',
  'apps.problem.key_form': 'It is not a JSON Web Key.',
  'apps.problem.key_private':
    'This is the private key. It has left the app now, so do not use it any more: make a new pair of keys, and give the public one only.',
  'apps.problem.key_id_form': 'Its kid is a text of 1 to {most} characters that can all be seen.',
  'apps.problem.key_id_missing': 'With several keys, give each a kid of its own.',
  'apps.problem.key_duplicate': 'Another key has the kid “{name}” too.',
  'apps.problem.key_type': 'Give an RSA key, an EC key on P-256, P-384 or P-521, or an Ed25519 key.',
  'apps.problem.key_algorithm': 'Its alg does not belong to this kind of key. Give {name}, or leave it out.',
  'apps.problem.key_use': 'It is not for signatures.',
  'apps.problem.key_invalid': 'It is not a valid public key.',
  'apps.problem.key_length': 'Give an RSA key of 2048 to 4096 bits.',
  'apps.problem.jwks_uri_form':
    'Give an address that begins with https:, of at most {most} characters, without user name, password and #.',
  'apps.problem.jwks_uri_private':
    'This server reads keys from public addresses only. Give the keys themselves instead.',
  'apps.problem.other': 'This was not accepted: {problem}.',
  'apps.problem.changed':
    'This app was changed after you opened the form, by another user or in another tab. Check the form and save it again to overwrite that.',

  'permissions.lead': 'What this app may do with its own tokens. You can give it what you hold yourself.',
  'permissions.roles': 'Roles',
  'permissions.permissions': 'Single permissions',
  'permissions.nothing': 'You hold no permission that you could give it.',
  'permissions.fixed': 'Given by an administrator; you cannot change it.',
  'permissions.effective': 'What it may do now',
  'permissions.effectiveLead': 'What it was given and its owner holds too.',
  'permissions.effectiveNothing': 'Nothing.',
  'permissions.withoutEffect': 'Without effect, because its owner does not hold it:',
  'permissions.people':
    'This app acts for the people who sign in to it, so the permissions of each person apply. A scope limits a token to a part of them.',
  'permissions.scopes': 'Scopes that it may ask for',
  'permissions.scopeNames': 'It names them in the parameter scope, with a space between two.',
  'permissions.aboutUser': 'About the person',
  'permissions.noScopes':
    'There are no scopes here: with its tokens the app may do whatever the person may do.',
  'permissions.withoutScope':
    'When it asks for none, it gets all in its list, and with an empty list it only learns who the person is. Without a list it may then do whatever the person may do.',
  'permissions.everyScope': 'Every scope, also those that are added later',
  'permissions.someScopes': 'Only these:',

  'secrets.lead':
    'The app sends one of these as client_secret. To change a secret without a break, add one, put it into the app, and then delete the old one.',
  'secrets.public': 'This app runs where it cannot keep a secret. It proves itself by PKCE instead.',
  'secrets.noneButKeys': 'It has no secret. It authenticates with its keys.',
  'secrets.none': 'It has no secret and cannot get tokens.',
  'secrets.hint': 'ends in',
  'secrets.unnamed': 'without a label',
  'secrets.created': 'Added',
  'secrets.expires': 'Expires',
  'secrets.expiresNever': 'Never expires',
  'secrets.expired': 'Expired',
  'secrets.delete': 'Delete',
  'secrets.deleteHeading': 'Delete the secret {label}?',
  'secrets.deleteLead': 'It ends in {hint}. Wherever {client} still uses it, it gets no more tokens.',
  'secrets.add': 'Add a secret',
  'secrets.label': 'Label',
  'secrets.labelHint': 'Where it is used, such as “production”.',
  'secrets.lives': 'Expires',
  'secrets.forever': 'Never',
  'secrets.days.30': 'In 30 days',
  'secrets.days.90': 'In 90 days',
  'secrets.days.180': 'In 180 days',
  'secrets.days.365': 'In a year',
  'secrets.expiresProblem': 'Choose when the secret expires.',
  'secrets.newHeading': 'A new secret of {client}',
  'secrets.back': 'Back to the secrets',

  'keys.lead':
    'An app can sign an assertion with its private key instead of sending a secret (private_key_jwt). Only public keys are stored here.',
  'keys.notAccepted': 'This server does not accept keys at the moment.',
  'keys.secretsToo':
    'This app also has secrets, and both are accepted. Delete the secrets when the app uses its keys.',
  'keys.readFrom': 'Its keys are read from',
  'keys.unnamed': 'without a kid',
  'keys.thumbprint': 'SHA-256',
  'keys.add': 'Add keys',
  'keys.replace': 'Change the keys',
  'keys.jwks': 'Public keys',
  'keys.jwksHint':
    'A JSON Web Key Set, never with a private key. To change a key without a break, add the new one beside the old one, put it into the app, and then remove the old one.',
  'keys.jwksUri': 'Or the address of the public keys',
  'keys.jwksUriHint':
    'Such as https://app.example/jwks.json. It is read again after five minutes, so new keys are found by themselves.',
  'keys.both': 'Give the keys or their address, not both.',
  'keys.missing': 'Give the keys, or their address below.',
  'keys.notJson': 'This is not JSON.',
  'keys.remove': 'Remove the keys',
  'keys.removeHeading': 'Remove the keys of {client}?',
  'keys.removeLead': 'Then it authenticates with its secrets only. Without one, it gets no more tokens.',

  'usage.days.one': 'The last day',
  'usage.days.other': 'The last {count} days',
  'usage.issued.one': '{count} token issued',
  'usage.issued.other': '{count} tokens issued',
  'usage.refused.one': '{count} request refused',
  'usage.refused.other': '{count} requests refused',
  'usage.most.one': 'At most {count} a day',
  'usage.most.other': 'At most {count} a day',
  'usage.byDay': 'Numbers by day',
  'usage.day': 'Day (UTC)',
  'usage.issuedColumn': 'Issued',
  'usage.refusedColumn': 'Refused',
  'usage.truncated': 'There are so many that only the newest are counted.',
  'usage.notStored': 'Events are not stored for a longer time here.',

  'activity.kind': 'Events',
  'activity.kind.all': 'All',
  'activity.kind.tokens': 'Tokens',
  'activity.kind.refused': 'Refused requests',
  'activity.kind.people': 'Authorizations by people',
  'activity.kind.changes': 'Changes of the app',
  'activity.show': 'Show',
  'activity.ofUser': 'Only the events of this person',
  'activity.onlyUser': 'Only events of',
  'activity.everybody': 'Show those of everybody',
  'activity.notStored': 'Events are not stored here.',
  'activity.noneOfKind': 'There are no such events.',
  'activity.none': 'Nothing has happened yet. Token requests of this app are listed here.',
  'activity.first': 'Newest',
  'activity.next': 'Older',
  'activity.token_issued': 'Token issued',
  'activity.refresh_token_reused': 'Used refresh token sent again, with success',
  'activity.token_refused': 'Token request refused',
  'activity.authorization_refused': 'Authorization request refused',
  'activity.consent_given': 'A person authorized the app',
  'activity.consent_denied': 'A person did not authorize the app',
  'activity.consent_withdrawn': 'A person disconnected the app',
  'activity.client_created': 'App created',
  'activity.client_updated': 'App changed',
  'activity.client_disabled': 'App disabled',
  'activity.client_enabled': 'App enabled',
  'activity.client_withdrawn': 'What describes the app is gone or not valid any more',
  'activity.secret_added': 'Secret ending in {hint} added',
  'activity.secret_deleted': 'Secret ending in {hint} deleted',
  'activity.tokens_revoked': 'Tokens revoked',
  'activity.grantType': 'Grant type',
  'activity.reason': 'Why',
  'activity.user': 'User',
  'activity.resource': 'API',
  'activity.scopes': 'Scopes',
  'activity.fields': 'Changed',
  'activity.actor': 'By',
  'activity.you': 'you',
  'activity.owner': 'its owner',
  'activity.administrator': 'an administrator',
  'activity.address': 'From',
} as const satisfies ActivityTexts<typeof CORE_EVENTS>;

export type DeveloperText = keyof typeof en;

/** The sentences of all pages and of the developer area. */
export type AppTexts = Texts & Readonly<Record<DeveloperText, string>>;

export const de: Readonly<Record<DeveloperText, string>> = {
  'page.apps': 'Ihre Apps',
  'page.allApps': 'Alle Apps',

  'apps.lead': 'Die Apps, die Sie angelegt haben.',
  'apps.allLead':
    'Die Apps aller Personen, auch die, die niemand angelegt hat. Ihre eigenen sind mit „Von Ihnen“ gekennzeichnet.',
  'apps.new': 'Neue App',
  'apps.search': 'Nach dem Anfang des Namens oder eines Wortes darin suchen, oder nach Client-ID',
  'apps.searchSubmit': 'Suchen',
  'apps.searchClear': 'Alle anzeigen',
  'apps.none': 'Noch keine Apps',
  'apps.noneLead':
    'Eine App erhält hier Tokens, für die Personen, die sich bei ihr anmelden, oder für sich selbst. Legen Sie eine an, um ihre Client-ID zu bekommen.',
  'apps.noneFound': 'Keine App hat ein Wort im Namen, das so beginnt, oder diese Client-ID',
  'apps.disabled': 'Deaktiviert',
  'apps.own': 'Von Ihnen',
  'apps.created': 'Angelegt am',
  'apps.kind': 'Art',
  'apps.owner': 'Gehört',
  'apps.clientId': 'Client-ID',
  'apps.secret': 'Client-Secret',

  'apps.name': 'Name',
  'apps.nameHint': 'Er steht auf der Seite, auf der Personen der App den Zugriff erlauben.',
  'apps.clientUri': 'Website',
  'apps.clientUriHint':
    'Freiwillig. Ihr Host, etwa app.example, steht auf der Seite, auf der Personen der App den Zugriff erlauben.',
  'apps.verified': 'Geprüft',
  'apps.verifiedHint':
    'Sie stehen für Namen, Website und Logo ein: Alle sehen, dass sie geprüft sind. Wird etwas davon oder eine Redirect-URI geändert, gilt das nicht mehr.',
  'apps.verified.true':
    'Ja. Wird der Name, die Website, das Logo oder eine Redirect-URI geändert, gilt das nicht mehr.',
  'apps.verified.false': 'Nein. Der Host der Website wird als nicht geprüft gezeigt, das Logo gar nicht.',
  'apps.logo': 'Logo',
  'apps.logoHint':
    'Eine PNG- oder JPEG-Datei mit höchstens 64 KiB, die höchstens 1024 Pixel breit und hoch ist. Sie wird gezeigt, sobald die Administration die App geprüft hat.',
  'apps.logoSave': 'Logo speichern',
  'apps.logoRemove': 'Logo entfernen',
  'apps.grantType': 'Wie bekommt die App ihre Tokens?',
  'apps.grantTypeHint': 'Das lässt sich später nicht mehr ändern.',
  'apps.forPeople': 'Für Apps mit Authorization Code',
  'apps.redirectUris': 'Redirect-URIs',
  'apps.redirectUrisHint':
    'Eine pro Zeile, zum Beispiel https://app.example/callback. Nach der Anmeldung geht es genau an eine dieser Adressen zurück.',
  'apps.place': 'Wo läuft die App?',
  'apps.kind.server.name': 'Authorization Code, auf einem Server',
  'apps.kind.browser.name': 'Authorization Code, in einem Browser',
  'apps.kind.device.name': 'Authorization Code, auf einem Gerät',
  'apps.place.server': 'Auf einem Server',
  'apps.place.serverHint': 'Sie kann ein Secret geheim halten (confidential).',
  'apps.place.browser': 'In einem Browser',
  'apps.place.browserHint': 'Sie kann kein Secret geheim halten und verwendet PKCE (public).',
  'apps.place.device': 'Auf einem Computer oder Smartphone',
  'apps.place.deviceHint':
    'Eine installierte App ohne Secret, mit PKCE (public, native). Bei Redirects zu 127.0.0.1 passt jeder Port, und Schemas wie com.example.app: sind erlaubt.',
  'apps.firstParty': 'First-Party-App',
  'apps.firstPartyHint': 'Sie gehört zur Plattform selbst: Niemand wird gefragt, ob sie zugreifen darf.',
  'apps.firstPartyFixed':
    'Diese App gehört zur Plattform selbst. Ihren Namen, ihre Website, ihr Logo, ihre Redirect-URIs und wo sie läuft, ändert nur die Administration.',
  'apps.source': 'Angemeldet',
  'apps.callsItself': 'Nennt sich',
  'apps.create': 'App anlegen',
  'apps.createdHeading': '{client} ist angelegt',
  'apps.secretOnce':
    'Kopieren Sie das Secret jetzt. Es wird nur dieses eine Mal angezeigt und kann später nicht mehr gelesen werden.',
  'apps.connect': 'Ein Token holen und die API zum ersten Mal aufrufen',
  'apps.tokenUrl': 'Token-URL',
  'apps.firstCall.secret': 'Diese Zeile fragt nach dem Secret der App und legt es in eine Umgebungsvariable.',
  'apps.firstCall.assertion':
    'Diese Zeile fragt nach einer Assertion, die die App signiert hat, und legt sie in eine Umgebungsvariable.',
  'apps.firstCall.call': 'Rufen Sie die API auf: Sie sagt, für wen das Token spricht.',
  'apps.firstCall.javascript':
    'Speichern Sie dies als first-call.mjs, und starten Sie es mit node first-call.mjs.',
  'apps.firstCall.python':
    'Speichern Sie dies als first_call.py, und starten Sie es mit python3 first_call.py.',
  'apps.givePermissions': 'Berechtigungen geben',
  'apps.goToApp': 'Zur App',

  'apps.tab': 'Seiten dieser App',
  'apps.tab.overview': 'Übersicht',
  'apps.tab.settings': 'Einstellungen',
  'apps.tab.permissions': 'Berechtigungen',
  'apps.tab.secrets': 'Secrets',
  'apps.tab.keys': 'Schlüssel',
  'apps.tab.activity': 'Aktivität',
  'apps.isDisabled': 'Diese App ist deaktiviert: Sie bekommt keine Tokens, und ihre bisherigen gelten nicht.',
  'apps.cannotEnable': 'Nur die Administration kann sie wieder aktivieren.',

  'apps.stop': 'Widerrufen, deaktivieren oder löschen',
  'apps.revoke': 'Alle Tokens widerrufen',
  'apps.revokeHint':
    'Alle ihre Tokens werden für immer ungültig: ihre eigenen und die der Personen, die sie nutzen.',
  'apps.revokeHeading': 'Alle Tokens von {client} widerrufen?',
  'apps.revokeLead':
    'Alle ihre Tokens werden für immer ungültig: ihre eigenen und die der Personen, die sie nutzen. Wer eines ihrer Secrets hat, bekommt neue: Ersetzen Sie zuerst das Secret, wenn es in falsche Hände geraten ist.',
  'apps.disable': 'Deaktivieren',
  'apps.disableHeading': '{client} deaktivieren?',
  'apps.disableLead':
    'Die App bekommt keine Tokens mehr, und ihre bisherigen gelten nicht, bis sie wieder aktiviert wird.',
  'apps.enable': 'Aktivieren',
  'apps.enableHint': 'Sie bekommt wieder Tokens, und alle, die nicht abgelaufen sind, gelten wieder.',
  'apps.delete': 'Löschen',
  'apps.deleteHint':
    'Sie wird endgültig gelöscht, mit ihren Secrets und allen Zugriffen, die Personen ihr erlaubt haben.',
  'apps.deleteHeading': '{client} löschen?',
  'apps.deleteLead':
    'Die App wird endgültig gelöscht, mit ihren Secrets und allen Zugriffen, die Personen ihr erlaubt haben. Ihre Tokens gelten nicht mehr.',

  'apps.done.created': 'Die App ist angelegt.',
  'apps.done.createdBefore':
    'Dieses Formular wurde schon einmal gesendet: Die App ist angelegt und steht in dieser Liste. Wenn Ihnen das Secret fehlt, fügen Sie auf ihrer Seite „Secrets“ ein weiteres hinzu.',
  'apps.done.saved': 'Gespeichert.',
  'apps.done.disabled': 'Die App ist deaktiviert.',
  'apps.done.tokensRevoked': 'Alle Tokens der App sind widerrufen.',
  'apps.done.enabled': 'Die App ist aktiviert.',
  'apps.done.deleted': 'Die App ist gelöscht.',
  'apps.done.secretAddedBefore':
    'Dieses Formular wurde schon einmal gesendet: Das Secret ist hinzugefügt und steht in dieser Liste. Wenn Ihnen sein Wert fehlt, löschen Sie es und fügen ein weiteres hinzu.',
  'apps.done.secretDeleted': 'Das Secret ist gelöscht.',
  'apps.done.keysRemoved': 'Die Schlüssel sind entfernt.',

  'apps.problem.name_length': 'Geben Sie einen Namen mit 1 bis {most} Zeichen ein.',
  'apps.problem.client_uri_form':
    'Geben Sie die Website als https://host/pfad an, mit höchstens {most} ASCII-Zeichen, ohne Benutzernamen, Passwort und Fragment.',
  'apps.problem.logo_form':
    'Wählen Sie eine PNG- oder JPEG-Datei, die höchstens {most} Pixel breit und hoch ist.',
  'apps.problem.logo_size': 'Wählen Sie eine Datei mit höchstens {most} Bytes.',
  'apps.problem.unregistered_app':
    'Diese App hat niemand registriert. Sie hat weder Website noch Logo und ist nicht geprüft.',
  'apps.problem.control_characters':
    'Der Name enthält unsichtbare Zeichen. Geben Sie ihn ohne diese noch einmal ein.',
  'apps.problem.grant_type_unknown': 'Wählen Sie, wie die App ihre Tokens bekommt.',
  'apps.problem.administrators_only':
    'Welche Apps First-Party-Apps oder geprüft sind, entscheidet nur die Administration.',
  'apps.problem.first_party_fixed': 'Das ändert bei einer First-Party-App nur die Administration.',
  'apps.problem.name_reserved':
    'Dieser Name, oder einer, der so aussieht, gehört der Plattform. Wählen Sie einen anderen.',
  'apps.problem.from_source': 'Das steht im Dokument der App und wird dort geändert.',
  'apps.problem.unregistered_first_party':
    'Niemand hat diese App angemeldet, deshalb wird der Zugriff immer erfragt.',
  'apps.problem.unregistered_scopes':
    'Niemand hat diese App angemeldet, deshalb kann sie nicht jeden Scope haben. Wählen Sie einige aus.',
  'apps.problem.disabled_live':
    'Eine deaktivierte App kann nicht gelöscht werden, wenn ihr Dokument sie wieder hereinlassen würde. Lassen Sie sie deaktiviert, oder aktivieren Sie sie zuerst.',
  'apps.problem.name_mixed_scripts':
    'Der Name mischt Buchstaben mehrerer Schriften, von denen manche gleich aussehen. Verwenden Sie die einer Schrift.',
  'apps.problem.too_many_apps':
    'Sie haben {most} Apps; mehr kann eine Person nicht haben. Löschen Sie erst eine.',
  'apps.problem.redirect_uri_missing': 'Geben Sie mindestens eine Redirect-URI ein.',
  'apps.problem.too_many_redirect_uris': 'Geben Sie höchstens {most} Redirect-URIs ein.',
  'apps.problem.redirectUri': 'Redirect-URI {number}: {problem}',
  'apps.problem.uri_length': 'Sie ist länger als {most} Zeichen.',
  'apps.problem.uri_characters':
    'Sie enthält Leerzeichen oder Zeichen außerhalb von ASCII. Kodieren Sie diese, ein Leerzeichen etwa als %20.',
  'apps.problem.uri_relative': 'Geben Sie die ganze Adresse ein, zum Beispiel https://app.example/callback.',
  'apps.problem.uri_fragment': 'Sie darf kein Fragment haben, also keinen Teil, der mit # beginnt.',
  'apps.problem.uri_wildcard':
    'Ein Sternchen steht hier für nichts anderes. Geben Sie jede Adresse in einer eigenen Zeile ein.',
  'apps.problem.uri_credentials': 'Sie darf weder Benutzernamen noch Passwort enthalten.',
  'apps.problem.uri_form': 'Schreiben Sie sie in der Form https://host/pfad.',
  'apps.problem.uri_scheme':
    'Sie muss mit https: oder http: beginnen. Andere Schemas sind für Apps auf einem Computer oder Smartphone.',
  'apps.problem.uri_insecure':
    'Sie muss mit https: beginnen. Ohne geht es nur für die Adresse des eigenen Computers, zum Beispiel http://localhost.',
  'apps.problem.uri_private_scheme':
    'Verwenden Sie ein eigenes Schema, zum Beispiel com.example.app:/callback. Dieses gehört einem Protokoll, einem Browser oder einem System.',
  'apps.problem.uri_http_host':
    'Auf einem Computer oder Smartphone ist http: für 127.0.0.1, [::1] und localhost da. Alles andere braucht https:.',
  'apps.problem.uri_https_loopback': 'Verwenden Sie http: für die Adresse des eigenen Computers.',
  'apps.problem.unknown_scope':
    'Den Scope „{name}“ gibt es nicht mehr. Prüfen Sie die Liste und speichern Sie noch einmal.',
  'apps.problem.not_assignable':
    'Sie können einer App nur geben, was Sie selbst haben; „{name}“ gehört nicht dazu.',
  'apps.problem.label_form':
    'Geben Sie eine Bezeichnung mit höchstens {most} Zeichen und ohne unsichtbare ein.',
  'apps.problem.too_many_secrets':
    'Die App hat {most} Secrets; mehr sind nicht möglich. Löschen Sie erst eines.',
  'apps.problem.public_client': 'Diese App läuft dort, wo sie kein Secret geheim halten kann.',
  'apps.problem.key': 'Schlüssel {number}: {problem}',
  'apps.problem.keys_not_accepted': 'Dieser Server nimmt keine Schlüssel an.',
  'apps.problem.jwks_form': 'Das ist kein JSON Web Key Set: ein Objekt mit einer Liste von Schlüsseln.',
  'apps.problem.keys_count': 'Geben Sie 1 bis {most} Schlüssel an.',
  'apps.problem.keys_size': 'Geben Sie höchstens {most} Zeichen an.',
  'apps.problem.key_form': 'Er ist kein JSON Web Key.',
  'apps.problem.key_private':
    'Das ist der private Schlüssel. Er hat die App damit verlassen, verwenden Sie ihn nicht mehr: Erzeugen Sie ein neues Schlüsselpaar, und geben Sie nur den öffentlichen an.',
  'apps.problem.key_id_form': 'Seine kid ist ein Text aus 1 bis {most} sichtbaren Zeichen.',
  'apps.problem.key_id_missing': 'Bei mehreren Schlüsseln braucht jeder eine eigene kid.',
  'apps.problem.key_duplicate': 'Ein anderer Schlüssel hat auch die kid „{name}“.',
  'apps.problem.key_type':
    'Geben Sie einen RSA-Schlüssel, einen EC-Schlüssel auf P-256, P-384 oder P-521, oder einen Ed25519-Schlüssel an.',
  'apps.problem.key_algorithm':
    'Seine alg gehört nicht zu dieser Art von Schlüssel. Geben Sie {name} an, oder lassen Sie sie weg.',
  'apps.problem.key_use': 'Er ist nicht für Signaturen bestimmt.',
  'apps.problem.key_invalid': 'Er ist kein gültiger öffentlicher Schlüssel.',
  'apps.problem.key_length': 'Geben Sie einen RSA-Schlüssel mit 2048 bis 4096 Bit an.',
  'apps.problem.jwks_uri_form':
    'Geben Sie eine Adresse an, die mit https: beginnt, mit höchstens {most} Zeichen, ohne Benutzernamen, Passwort und #.',
  'apps.problem.jwks_uri_private':
    'Dieser Server liest Schlüssel nur von öffentlichen Adressen. Geben Sie stattdessen die Schlüssel selbst an.',
  'apps.problem.other': 'Das wurde nicht angenommen: {problem}.',
  'apps.problem.changed':
    'Diese App wurde geändert, nachdem Sie das Formular geöffnet haben, von einer anderen Person oder in einem anderen Tab. Prüfen Sie das Formular; wenn Sie noch einmal speichern, wird jene Änderung überschrieben.',

  'permissions.lead':
    'Was diese App mit ihren eigenen Tokens darf. Sie können ihr geben, was Sie selbst haben.',
  'permissions.roles': 'Rollen',
  'permissions.permissions': 'Einzelne Berechtigungen',
  'permissions.nothing': 'Sie haben keine Berechtigung, die Sie ihr geben könnten.',
  'permissions.fixed': 'Von der Administration gegeben; Sie können es nicht ändern.',
  'permissions.effective': 'Was sie zurzeit darf',
  'permissions.effectiveLead': 'Was ihr gegeben wurde und wer sie besitzt selbst auch hat.',
  'permissions.effectiveNothing': 'Nichts.',
  'permissions.withoutEffect': 'Ohne Wirkung, weil wer sie besitzt es nicht hat:',
  'permissions.people':
    'Diese App handelt für die Personen, die sich bei ihr anmelden; es gelten die Berechtigungen der jeweiligen Person. Ein Scope beschränkt ein Token auf einen Teil davon.',
  'permissions.scopes': 'Scopes, um die sie bitten darf',
  'permissions.scopeNames': 'Sie nennt sie im Parameter scope, mit einem Leerzeichen zwischen zweien.',
  'permissions.aboutUser': 'Über die Person',
  'permissions.noScopes':
    'Hier gibt es keine Scopes: Mit ihren Tokens darf die App alles, was die Person darf.',
  'permissions.withoutScope':
    'Bittet sie um keinen, bekommt sie alle ihrer Liste; mit einer leeren erfährt sie nur, wer die Person ist. Ohne Liste darf sie dann alles, was die Person darf.',
  'permissions.everyScope': 'Alle Scopes, auch später hinzugefügte',
  'permissions.someScopes': 'Nur diese:',

  'secrets.lead':
    'Eines davon sendet die App als client_secret. Um ein Secret ohne Unterbrechung zu wechseln, fügen Sie ein neues hinzu, tragen es in der App ein und löschen dann das alte.',
  'secrets.public':
    'Diese App läuft dort, wo sie kein Secret geheim halten kann. Sie weist sich stattdessen mit PKCE aus.',
  'secrets.noneButKeys': 'Sie hat kein Secret. Sie weist sich mit ihren Schlüsseln aus.',
  'secrets.none': 'Sie hat kein Secret und kann keine Tokens bekommen.',
  'secrets.hint': 'endet auf',
  'secrets.unnamed': 'ohne Bezeichnung',
  'secrets.created': 'Hinzugefügt am',
  'secrets.expires': 'Läuft ab am',
  'secrets.expiresNever': 'Läuft nie ab',
  'secrets.expired': 'Abgelaufen',
  'secrets.delete': 'Löschen',
  'secrets.deleteHeading': 'Das Secret {label} löschen?',
  'secrets.deleteLead': 'Es endet auf {hint}. Wo {client} es noch verwendet, gibt es keine Tokens mehr.',
  'secrets.add': 'Secret hinzufügen',
  'secrets.label': 'Bezeichnung',
  'secrets.labelHint': 'Wo es verwendet wird, zum Beispiel „Produktion“.',
  'secrets.lives': 'Läuft ab',
  'secrets.forever': 'Nie',
  'secrets.days.30': 'In 30 Tagen',
  'secrets.days.90': 'In 90 Tagen',
  'secrets.days.180': 'In 180 Tagen',
  'secrets.days.365': 'In einem Jahr',
  'secrets.expiresProblem': 'Wählen Sie, wann das Secret abläuft.',
  'secrets.newHeading': 'Neues Secret für {client}',
  'secrets.back': 'Zurück zu den Secrets',

  'keys.lead':
    'Eine App kann mit ihrem privaten Schlüssel eine Assertion signieren, statt ein Secret zu senden (private_key_jwt). Hier werden nur öffentliche Schlüssel gespeichert.',
  'keys.notAccepted': 'Dieser Server nimmt zurzeit keine Schlüssel an.',
  'keys.secretsToo':
    'Diese App hat auch Secrets, und beides wird angenommen. Löschen Sie die Secrets, wenn die App ihre Schlüssel verwendet.',
  'keys.readFrom': 'Ihre Schlüssel werden gelesen von',
  'keys.unnamed': 'ohne kid',
  'keys.thumbprint': 'SHA-256',
  'keys.add': 'Schlüssel hinzufügen',
  'keys.replace': 'Schlüssel ändern',
  'keys.jwks': 'Öffentliche Schlüssel',
  'keys.jwksHint':
    'Ein JSON Web Key Set, nie mit einem privaten Schlüssel. Um einen Schlüssel ohne Unterbrechung zu wechseln, fügen Sie den neuen neben dem alten hinzu, tragen ihn in der App ein und entfernen dann den alten.',
  'keys.jwksUri': 'Oder die Adresse der öffentlichen Schlüssel',
  'keys.jwksUriHint':
    'Zum Beispiel https://app.example/jwks.json. Sie wird nach fünf Minuten wieder gelesen; neue Schlüssel werden so von selbst gefunden.',
  'keys.both': 'Geben Sie die Schlüssel oder ihre Adresse an, nicht beides.',
  'keys.missing': 'Geben Sie die Schlüssel an, oder unten ihre Adresse.',
  'keys.notJson': 'Das ist kein JSON.',
  'keys.remove': 'Schlüssel entfernen',
  'keys.removeHeading': 'Die Schlüssel von {client} entfernen?',
  'keys.removeLead':
    'Dann weist sie sich nur noch mit ihren Secrets aus. Ohne ein Secret bekommt sie keine Tokens mehr.',

  'usage.days.one': 'Der letzte Tag',
  'usage.days.other': 'Die letzten {count} Tage',
  'usage.issued.one': '{count} Token ausgestellt',
  'usage.issued.other': '{count} Tokens ausgestellt',
  'usage.refused.one': '{count} Anfrage abgelehnt',
  'usage.refused.other': '{count} Anfragen abgelehnt',
  'usage.most.one': 'Höchstens {count} am Tag',
  'usage.most.other': 'Höchstens {count} am Tag',
  'usage.byDay': 'Zahlen nach Tagen',
  'usage.day': 'Tag (UTC)',
  'usage.issuedColumn': 'Ausgestellt',
  'usage.refusedColumn': 'Abgelehnt',
  'usage.truncated': 'Es sind so viele, dass nur die neuesten gezählt werden.',
  'usage.notStored': 'Ereignisse werden hier nicht länger gespeichert.',

  'activity.kind': 'Ereignisse',
  'activity.kind.all': 'Alle',
  'activity.kind.tokens': 'Tokens',
  'activity.kind.refused': 'Abgelehnte Anfragen',
  'activity.kind.people': 'Zustimmungen von Personen',
  'activity.kind.changes': 'Änderungen der App',
  'activity.show': 'Anzeigen',
  'activity.ofUser': 'Nur die Ereignisse dieser Person',
  'activity.onlyUser': 'Nur Ereignisse von',
  'activity.everybody': 'Die von allen anzeigen',
  'activity.notStored': 'Ereignisse werden hier nicht gespeichert.',
  'activity.noneOfKind': 'Solche Ereignisse gibt es nicht.',
  'activity.none': 'Noch ist nichts geschehen. Token-Anfragen dieser App stehen hier.',
  'activity.first': 'Neueste',
  'activity.next': 'Ältere',
  'activity.token_issued': 'Token ausgestellt',
  'activity.refresh_token_reused': 'Benutztes Refresh Token erneut gesendet, mit Erfolg',
  'activity.token_refused': 'Token-Anfrage abgelehnt',
  'activity.authorization_refused': 'Autorisierungsanfrage abgelehnt',
  'activity.consent_given': 'Eine Person hat den Zugriff erlaubt',
  'activity.consent_denied': 'Eine Person hat den Zugriff abgelehnt',
  'activity.consent_withdrawn': 'Eine Person hat die App getrennt',
  'activity.client_created': 'App angelegt',
  'activity.client_updated': 'App geändert',
  'activity.client_disabled': 'App deaktiviert',
  'activity.client_enabled': 'App aktiviert',
  'activity.client_withdrawn': 'Was die App beschreibt, fehlt oder ist nicht mehr gültig',
  'activity.secret_added': 'Secret hinzugefügt, das auf {hint} endet',
  'activity.secret_deleted': 'Secret gelöscht, das auf {hint} endet',
  'activity.tokens_revoked': 'Tokens widerrufen',
  'activity.grantType': 'Grant Type',
  'activity.reason': 'Grund',
  'activity.user': 'Person',
  'activity.resource': 'API',
  'activity.scopes': 'Scopes',
  'activity.fields': 'Geändert',
  'activity.actor': 'Von',
  'activity.you': 'Ihnen',
  'activity.owner': 'der Person, der sie gehört',
  'activity.administrator': 'der Administration',
  'activity.address': 'IP-Adresse',
};
