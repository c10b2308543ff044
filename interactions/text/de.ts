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
  'page.sessions': 'Ihre Anmeldungen',
  'page.logout': 'Abmelden',
  'page.home': 'Zu {brand}',
  'page.again': 'Noch einmal versuchen',
  'page.cancel': 'Abbrechen',
  'page.save': 'Speichern',
  'page.copy': 'Kopieren',
  'page.copied': 'Kopiert',
  'page.zone': 'Datumsangaben sind in UTC.',
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
  'consent.morePermissions.one': '{count} weitere',
  'consent.morePermissions.other': '{count} weitere',
  'consent.answers': 'Was darf die App tun?',
  'consent.answer.look': 'Nur ansehen',
  'consent.answer.all': 'Alles',
  'consent.answer.choose': 'Auswählen',
  'consent.looks': 'Ansehen',
  'consent.changes': 'Ändern',
  'consent.tools.one': '{count} Werkzeug',
  'consent.tools.other': '{count} Werkzeuge',
  'consent.resource': 'Zugriff auf',
  'consent.resource.unnamed': 'eine API ohne Namen: {name}',
  'consent.user': 'Angemeldet als',
  'consent.switch': 'Nicht Sie?',
  'consent.destination': 'Danach geht es weiter zu',
  'consent.destination.program': 'dem Programm auf diesem Gerät, das {name}-Links öffnet',
  'consent.registered': 'Registriert',
  'consent.registered.platform': 'Von {brand}',
  'consent.registered.nobody': 'Von niemandem: Sie beschreibt sich unter {name}',
  'consent.registered.developer': 'Von einer Person bei {brand}',
  'consent.asksAgain':
    'Sie werden jedes Mal gefragt: Die App ist auf diesem Gerät, und andere Programme dort könnten sich für sie ausgeben.',
  'consent.disconnect': 'Unter „Verbundene Apps“ können Sie die App jederzeit trennen.',
  'consent.lifetime': 'Der Zugriff gilt höchstens {hint}.',
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
  'logout.leadOfApp': '{client} möchte Sie abmelden. Sie sind als {user} angemeldet.',
  'logout.stay': 'Angemeldet bleiben',
  'logout.doneHeading': 'Sie sind abgemeldet',
  'logout.doneLead':
    'Sie können diese Seite schließen. Apps, denen Sie den Zugriff erlaubt haben, bleiben verbunden.',
  'logout.stillLoggedInHeading': 'Sie sind bei {brand} noch angemeldet',
  'logout.stillLoggedInLead':
    'Melden Sie sich bei {brand} selbst ab, um Ihre Sitzung in diesem Browser zu beenden.',
  'logout.continue': 'Weiter zu {name}',
  'logout.notLoggedInHeading': 'Sie sind nicht angemeldet',
  'logout.notLoggedInLead': 'In diesem Browser ist niemand angemeldet.',

  'loggedOut.heading': 'Sie sind nicht mehr angemeldet',
  'loggedOut.lead':
    'Es wurde noch nichts gespeichert. Melden Sie sich in einem anderen Tab wieder an und laden Sie dann diese Seite neu, um das Formular noch einmal zu senden.',
  'loggedOut.login': 'In einem anderen Tab anmelden',

  'authorizedApps.lead.one': 'Eine App kann auf Ihr Konto bei {brand} zugreifen.',
  'authorizedApps.lead.other': '{count} Apps können auf Ihr Konto bei {brand} zugreifen.',
  'authorizedApps.none':
    'Keine App kann auf Ihr Konto bei {brand} zugreifen. Sobald Sie einer App den Zugriff erlauben, steht sie hier, und Sie können sie wieder trennen.',
  'authorizedApps.search': 'Nach dem Namen suchen',
  'authorizedApps.searchSubmit': 'Suchen',
  'authorizedApps.searchClear': 'Alle anzeigen',
  'authorizedApps.noneFound': 'Keine von ihnen heißt so.',
  'authorizedApps.scopes': 'Sie darf:',
  'authorizedApps.noScopes': 'Sie darf alles, was Sie dürfen.',
  'authorizedApps.everything': 'Alles, was Sie dürfen',
  'authorizedApps.nothing':
    'Sie weiß, wer Sie sind: Ihren Namen und Ihre E-Mail-Adresse. Sonst darf sie nichts.',
  'authorizedApps.allowedBy': 'Von Ihrer Organisation erlaubt: {name}',
  'authorizedApps.since': 'Erlaubt am',
  'authorizedApps.tools': 'Was sie zuletzt getan hat:',
  'authorizedApps.disabled': 'Abgeschaltet',
  'authorizedApps.revoke': 'Trennen',
  'authorizedApps.revokeHeading': '{client} trennen?',
  'authorizedApps.revokeLead':
    'Die App verliert sofort den Zugriff auf Ihr Konto. Um sie wieder zu nutzen, erlauben Sie ihr den Zugriff erneut.',
  'authorizedApps.done.revoked': 'Die App ist getrennt. Sie hat keinen Zugriff mehr auf Ihr Konto.',

  'grants.heading.one': '{count} Verbindung:',
  'grants.heading.other': '{count} Verbindungen:',
  'grants.headingMany': 'Mehr als {count} Verbindungen. Die zuletzt benutzten:',
  'grants.more.one': '{count} weitere',
  'grants.more.other': '{count} weitere',
  'grants.since': 'seit',
  'grants.unknownPlace': 'Unbekannter Ort',
  'grants.revoke': 'Beenden',
  'grants.revokeHeading': 'Diese Verbindung von {client} beenden?',
  'grants.revokeLead':
    '{name}, seit {label}. Sie verliert sofort den Zugriff auf Ihr Konto. Andere Verbindungen der App bleiben bestehen.',
  'grants.done': 'Die Verbindung ist beendet. Sie hat keinen Zugriff mehr auf Ihr Konto.',

  'sessions.heading': 'Wo Sie angemeldet sind',
  'sessions.lead.one': 'Sie sind bei {brand} nur in diesem Browser angemeldet.',
  'sessions.lead.other': 'Sie sind bei {brand} in {count} Browsern angemeldet.',
  'sessions.leadMany':
    'Sie sind bei {brand} in mehr als {count} Browsern angemeldet. Die zuletzt genutzten sind hier aufgeführt.',
  'sessions.leadOfEnd':
    'Apps, die der Anmeldung hier folgen, melden Sie ab, wenn sie endet. Was Sie Apps erlaubt haben, gilt weiter: siehe „Verbundene Apps“.',
  'sessions.current': 'Dieser Browser',
  'sessions.since': 'Angemeldet',
  'sessions.end': 'Abmelden',
  'sessions.endOthers': 'Überall sonst abmelden',
  'sessions.done.ended': 'Sie sind in dem Browser abgemeldet.',
  'sessions.done.endedOthers': 'Sie sind in allen anderen Browsern abgemeldet.',

  'error.code': 'Fehler',
  'error.description': 'Für Entwickler, auf Englisch',
  'error.message': 'Einzelheiten',
  'error.permission': 'Fehlende Berechtigung',
  'error.developers': 'Für Entwickler',
  'error.redirectUri':
    'Vergleichen Sie redirect_uri in der Adresse dieser Seite mit den Redirect-URIs der App, Zeichen für Zeichen.',
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
  'error.login_refused.heading': 'Die Anmeldung war nicht möglich',
  'error.login_refused.lead':
    'Ihre Anmeldung bei dieser Plattform wurde für die App nicht angenommen. Melden Sie sich bei der Plattform ab, und beginnen Sie in der App von vorn.',
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
