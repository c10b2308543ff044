import type { en } from './en.ts';

/** The pages in German. */
export const de: Readonly<Record<keyof typeof en, string>> = {
  'page.problem': 'Es gibt ein Problem',
  'page.errorTitle': 'Fehler:',
  'page.terms': 'Nutzungsbedingungen',
  'page.privacy': 'Datenschutz',
  'page.skip': 'Zum Inhalt springen',
  'page.menu': 'Ihre Seiten',
  'page.authorizedApps': 'Verbundene Apps',
  'page.apps': 'Ihre Apps',
  'page.allApps': 'Alle Apps',
  'page.signOut': 'Abmelden',
  'page.home': 'Zu {brand}',
  'page.again': 'Noch einmal versuchen',
  'page.cancel': 'Abbrechen',
  'page.save': 'Speichern',
  'page.copy': 'Kopieren',
  'page.copied': 'Kopiert',
  'page.lastUsed': 'Zuletzt genutzt am',
  'page.neverUsed': 'Noch nicht genutzt',
  'page.first': 'Erste Seite',
  'page.next': 'Nächste Seite',

  'login.heading': 'Anmelden',
  'login.lead': 'und weiter zu {client}',
  'login.leadBrand': 'bei {brand}',
  'login.login': 'E-Mail-Adresse',
  'login.loginMissing': 'Geben Sie Ihre E-Mail-Adresse ein.',
  'login.password': 'Passwort',
  'login.passwordMissing': 'Geben Sie Ihr Passwort ein.',
  'login.refused': 'E-Mail-Adresse oder Passwort ist falsch.',
  'login.throttledMinutes.one': 'Zu viele Anmeldeversuche. Versuchen Sie es in {count} Minute noch einmal.',
  'login.throttledMinutes.other':
    'Zu viele Anmeldeversuche. Versuchen Sie es in {count} Minuten noch einmal.',
  'login.throttledSeconds.one': 'Zu viele Anmeldeversuche. Versuchen Sie es in {count} Sekunde noch einmal.',
  'login.throttledSeconds.other':
    'Zu viele Anmeldeversuche. Versuchen Sie es in {count} Sekunden noch einmal.',
  'login.submit': 'Anmelden',

  'app.verified': 'Von {brand} geprüft',
  'app.notVerified': 'Website, von {brand} nicht geprüft',

  'consent.heading': 'Zugriff für {client} erlauben?',
  'consent.lead': '{client} möchte auf Ihr Konto bei {brand} zugreifen.',
  'consent.leadMore': '{client} möchte weiteren Zugriff auf Ihr Konto bei {brand}.',
  'consent.scopes': 'Die App darf dann:',
  'consent.moreScopes': 'Die App darf dann außerdem:',
  'consent.optional': 'Sie entscheiden, ob die App darf:',
  'consent.consented': 'Was die App schon darf',
  'consent.problem.nothing': 'Lassen Sie mindestens ein Häkchen stehen, oder lehnen Sie den Zugriff ganz ab.',
  'consent.noScopes': 'Die App kann dann in Ihrem Namen handeln, mit allen Berechtigungen, die Sie haben.',
  'consent.nothing':
    'Die App erfährt, wer Sie sind: Ihren Namen und Ihre E-Mail-Adresse. Sonst darf sie nichts.',
  'consent.resource': 'Zugriff auf',
  'consent.user': 'Angemeldet als',
  'consent.switch': 'Nicht Sie?',
  'consent.destination': 'Danach geht es weiter zu',
  'consent.destination.program': 'dem Programm auf diesem Gerät, das {name}-Links öffnet',
  'consent.authorize': 'Zugriff erlauben',
  'consent.deny': 'Ablehnen',

  'consent.quoted': '„{name}“',
  'consent.caution': 'Niemand hat diese App geprüft',
  'consent.caution.device':
    'Es geht weiter zu einem Programm auf dem Gerät, das Sie gerade benutzen. Jedes Programm dort kann sich für diese App ausgeben.',

  'post.heading': 'Zurück zu {client}',
  'post.lead': 'Sie kehren zur App zurück. Falls nichts geschieht, drücken Sie die Schaltfläche.',

  'logout.heading': 'Bei {brand} abmelden?',
  'logout.lead': 'Sie sind als {user} angemeldet.',
  'logout.doneHeading': 'Sie sind abgemeldet',
  'logout.doneLead':
    'Sie können diese Seite schließen. Apps, denen Sie den Zugriff erlaubt haben, bleiben verbunden.',
  'logout.stillSignedInHeading': 'Sie sind bei {brand} noch angemeldet',
  'logout.stillSignedInLead':
    'Melden Sie sich bei {brand} selbst ab, um Ihre Sitzung in diesem Browser zu beenden.',
  'logout.continue': 'Weiter zu {name}',
  'logout.notSignedInHeading': 'Sie sind nicht angemeldet',
  'logout.notSignedInLead': 'In diesem Browser ist niemand angemeldet.',

  'signedOut.heading': 'Sie sind nicht mehr angemeldet',
  'signedOut.lead':
    'Es wurde noch nichts gespeichert. Melden Sie sich in einem anderen Tab wieder an und laden Sie dann diese Seite neu, um das Formular noch einmal zu senden.',
  'signedOut.signIn': 'In einem anderen Tab anmelden',

  'authorizedApps.lead.one': 'Eine App kann auf Ihr Konto bei {brand} zugreifen.',
  'authorizedApps.lead.other': '{count} Apps können auf Ihr Konto bei {brand} zugreifen.',
  'authorizedApps.none':
    'Keine App kann auf Ihr Konto bei {brand} zugreifen. Sobald Sie einer App den Zugriff erlauben, steht sie hier, und Sie können sie wieder trennen.',
  'authorizedApps.scopes': 'Sie darf:',
  'authorizedApps.noScopes': 'Sie darf alles, was Sie dürfen.',
  'authorizedApps.nothing':
    'Sie weiß, wer Sie sind: Ihren Namen und Ihre E-Mail-Adresse. Sonst darf sie nichts.',
  'authorizedApps.since': 'Erlaubt am',
  'authorizedApps.tools': 'Was sie zuletzt getan hat:',
  'authorizedApps.disabled': 'Abgeschaltet',
  'authorizedApps.disconnect': 'Trennen',
  'authorizedApps.disconnectHeading': '{client} trennen?',
  'authorizedApps.disconnectLead':
    'Die App verliert sofort den Zugriff auf Ihr Konto. Um sie wieder zu nutzen, erlauben Sie ihr den Zugriff erneut.',
  'authorizedApps.done.disconnected': 'Die App ist getrennt. Sie hat keinen Zugriff mehr auf Ihr Konto.',

  'connections.heading.one': '{count} Verbindung:',
  'connections.heading.other': '{count} Verbindungen:',
  'connections.headingMany': 'Mehr als {count} Verbindungen. Die zuletzt benutzten:',
  'connections.more.one': '{count} weitere',
  'connections.more.other': '{count} weitere',
  'connections.since': 'seit',
  'connections.unknownPlace': 'Unbekannter Ort',
  'connections.end': 'Beenden',
  'connections.endHeading': 'Diese Verbindung von {client} beenden?',
  'connections.endLead':
    '{name}, seit {label}. Sie verliert sofort den Zugriff auf Ihr Konto. Andere Verbindungen der App bleiben bestehen.',
  'connections.done': 'Die Verbindung ist beendet. Sie hat keinen Zugriff mehr auf Ihr Konto.',

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
  'usage.limited': 'Es sind so viele, dass nur die neuesten gezählt werden.',
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

  'error.code': 'Fehler',
  'error.description': 'Für Entwickler, auf Englisch',
  'error.message': 'Einzelheiten',
  'error.scope': 'Scope, den es hier nicht gibt oder nicht für diese App',
  'error.reference': 'Kennung',
  'error.access_denied.heading': 'Der Zugriff wurde nicht erlaubt',
  'error.access_denied.lead':
    'Die App hat nichts erhalten. Kehren Sie zu ihr zurück, um es noch einmal zu versuchen.',
  'error.client_source_unavailable.heading': 'Diese App lässt sich gerade nicht prüfen',
  'error.client_source_unavailable.lead':
    'Ihre Beschreibung, die der Entwickler ins Netz gestellt hat, war nicht abrufbar. Versuchen Sie es in einer Minute noch einmal; bleibt es dabei, nennen Sie dem Entwickler die Einzelheiten unten.',
  'error.client_source_invalid.heading': 'Die Beschreibung dieser App ist fehlerhaft',
  'error.client_source_invalid.lead':
    'Die Beschreibung, die der Entwickler ins Netz gestellt hat, fehlt oder enthält Fehler. Gehen Sie zurück zur App, und nennen Sie dem Entwickler die Einzelheiten unten.',
  'error.client_source_refused.heading': 'Diese App ist hier nicht zugelassen',
  'error.client_source_refused.lead':
    'Hier sind nur bestimmte Apps zugelassen, und diese gehört nicht dazu. Wenn Sie sie brauchen, fragen Sie einen Administrator.',
  'error.cross_site.heading': 'Dieses Formular kam von einer anderen Website',
  'error.cross_site.lead':
    'Um Ihr Konto zu schützen, wurde es nicht angenommen. Kehren Sie dorthin zurück, wo Sie hergekommen sind, und beginnen Sie von vorn.',
  'error.app_not_found.heading': 'Hier gibt es nichts',
  'error.app_not_found.lead': 'Es wurde gelöscht oder gehört einer anderen Person.',
  'error.not_permitted.heading': 'Sie können diese Seite nicht öffnen',
  'error.not_permitted.lead': 'Ihrem Konto fehlt eine Berechtigung. Bitten Sie die Administration darum.',
  'error.interaction_expired.heading': 'Diese Anmeldung ist nicht mehr offen',
  'error.interaction_expired.lead':
    'Sie hat zu lange gedauert oder wurde in einem anderen Tab beendet. Kehren Sie zur App zurück und beginnen Sie von vorn.',
  'error.invalid_client.heading': 'Diese App ist hier nicht bekannt',
  'error.invalid_client.lead':
    'Vielleicht wurde sie gelöscht oder abgeschaltet. Kehren Sie zu ihr zurück und geben Sie ihren Entwicklern Bescheid.',
  'error.invalid_redirect_uri.heading': 'Dieser Link führt nicht zur App zurück',
  'error.invalid_redirect_uri.lead':
    'Die App möchte Sie an eine Adresse weiterleiten, die für sie nicht registriert ist. Kehren Sie zu ihr zurück und geben Sie ihren Entwicklern Bescheid.',
  'error.invalid_request.heading': 'Dieser Link ist unvollständig',
  'error.invalid_request.lead':
    'Etwas darin fehlt oder ist falsch. Kehren Sie zur App zurück und beginnen Sie von vorn; wenn es so bleibt, geben Sie ihren Entwicklern Bescheid.',
  'error.invalid_scope.heading': 'Diese App verlangt zu viel',
  'error.invalid_scope.lead':
    'Sie bittet um einen Zugriff, den sie nicht bekommen kann. Kehren Sie zu ihr zurück und geben Sie ihren Entwicklern Bescheid.',
  'error.server_error.heading': 'Bei uns ist etwas schiefgegangen',
  'error.server_error.lead':
    'Warten Sie einen Moment und versuchen Sie es noch einmal. Wenn es so bleibt, nennen Sie uns die Kennung unten.',
  'error.temporarily_unavailable.heading': 'Das geht gerade nicht',
  'error.temporarily_unavailable.lead': 'Nichts ist verloren. Versuchen Sie es gleich noch einmal.',
  'error.too_many_attempts.heading': 'Zu viele Versuche',
  'error.too_many_attempts.lead': 'Warten Sie einige Minuten, und versuchen Sie es dann noch einmal.',
  'error.unauthorized_client.heading': 'Bei dieser App kann man sich nicht anmelden',
  'error.unauthorized_client.lead':
    'Dafür ist sie nicht registriert. Kehren Sie zu ihr zurück und geben Sie ihren Entwicklern Bescheid.',
  'error.unreadable_form.heading': 'Dieses Formular war nicht lesbar',
  'error.unreadable_form.lead': 'Gehen Sie zurück und versuchen Sie es noch einmal.',
  'error.unsupported_response_type.heading': 'Dieser Link wird nicht unterstützt',
  'error.unsupported_response_type.lead':
    'Die App verlangt etwas, das es auf diesem Server nicht gibt. Kehren Sie zu ihr zurück und geben Sie ihren Entwicklern Bescheid.',
  'error.other.heading': 'Das hat nicht geklappt',
  'error.other.lead': 'Kehren Sie zur App zurück und beginnen Sie von vorn.',
};
