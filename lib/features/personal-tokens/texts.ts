/** The sentences of the pages of personal access tokens. */
export const en = {
  'page.tokens': 'Access tokens',
  'tokens.lead.one':
    'With this token, a script of yours can use your {brand} account. Whoever knows it can too.',
  'tokens.lead.other':
    'With these {count} tokens, scripts of yours can use your {brand} account. Whoever knows one can too.',
  'tokens.none':
    'No script can use your {brand} account. A token lets one of yours do so, without your password.',
  'tokens.askAdministrator': 'You cannot create tokens. An administrator can allow you to.',
  'tokens.tooMany.one': 'You have as many tokens as you can have: {count}. End it to create another one.',
  'tokens.tooMany.other': 'You have as many tokens as you can have: {count}. End one to create another.',
  'tokens.create': 'Create a token',
  'tokens.newLead': 'For a script of yours that uses {brand}.',
  'tokens.name': 'Name',
  'tokens.nameHint': 'What it is for, such as “Nightly import”.',
  'tokens.nameProblem': 'Give it a name of 1 to 100 characters.',
  'tokens.lifetime': 'Ends',
  'tokens.lifetimeProblem': 'Choose when the token ends.',
  'tokens.days.one': 'In {count} day',
  'tokens.days.other': 'In {count} days',
  'tokens.api': 'Access to',
  'tokens.access': 'It can:',
  'tokens.accessHint': 'Choose as little as the script needs. It can never do more than you can.',
  'tokens.accessProblem': 'Choose what it can do.',
  'tokens.nothing': 'It only says who you are.',
  'tokens.created': 'Created',
  'tokens.expires': 'Ends',
  'tokens.createdHeading': 'Your new token',
  'tokens.createdLead': 'Copy it now. It is not shown again.',
  'tokens.value': 'Token',
  'tokens.callHeading': 'Use it in a script',
  'tokens.call': 'Send it with each request. This line asks for the token, and makes a request with it.',
  'tokens.back': 'Back to the tokens',
  'tokens.revoke': 'End',
  'tokens.revokeHeading': 'End the token {name}?',
  'tokens.revokeLead': 'Scripts that still use it lose their access to your account at once.',
  'tokens.done.revoked': 'The token is ended. It has no access to your account any more.',
  'tokens.done.createdBefore':
    'The token was created already, and its value is not shown again. If you did not copy it, end it and create another one.',
  'tokens.loginHeading': 'Sign in again',
  'tokens.loginLead': 'To create a token, you have to have signed in a short time ago.',
  'tokens.login': 'Sign in',
} as const;

export type PersonalTokenText = keyof typeof en;

export const de: Readonly<Record<PersonalTokenText, string>> = {
  'page.tokens': 'Zugriffstokens',
  'tokens.lead.one':
    'Mit diesem Token kann ein Skript von Ihnen auf Ihr Konto bei {brand} zugreifen. Wer ihn kennt, kann es auch.',
  'tokens.lead.other':
    'Mit diesen {count} Tokens können Skripte von Ihnen auf Ihr Konto bei {brand} zugreifen. Wer einen kennt, kann es auch.',
  'tokens.none':
    'Kein Skript kann auf Ihr Konto bei {brand} zugreifen. Mit einem Token kann es eines von Ihnen, ohne Ihr Passwort.',
  'tokens.askAdministrator': 'Sie können keine Tokens erstellen. Die Verwaltung kann es Ihnen erlauben.',
  'tokens.tooMany.one':
    'Sie haben so viele Tokens, wie Sie haben können: {count}. Beenden Sie ihn, um einen anderen zu erstellen.',
  'tokens.tooMany.other':
    'Sie haben so viele Tokens, wie Sie haben können: {count}. Beenden Sie einen, um einen anderen zu erstellen.',
  'tokens.create': 'Token erstellen',
  'tokens.newLead': 'Für ein Skript von Ihnen, das {brand} nutzt.',
  'tokens.name': 'Name',
  'tokens.nameHint': 'Wofür er ist, zum Beispiel „Nächtlicher Import“.',
  'tokens.nameProblem': 'Geben Sie einen Namen von 1 bis 100 Zeichen an.',
  'tokens.lifetime': 'Endet',
  'tokens.lifetimeProblem': 'Wählen Sie, wann der Token endet.',
  'tokens.days.one': 'In {count} Tag',
  'tokens.days.other': 'In {count} Tagen',
  'tokens.api': 'Zugriff auf',
  'tokens.access': 'Er darf:',
  'tokens.accessHint': 'Wählen Sie so wenig, wie das Skript braucht. Er darf nie mehr als Sie.',
  'tokens.accessProblem': 'Wählen Sie, was er darf.',
  'tokens.nothing': 'Er sagt nur, wer Sie sind.',
  'tokens.created': 'Erstellt am',
  'tokens.expires': 'Endet am',
  'tokens.createdHeading': 'Ihr neuer Token',
  'tokens.createdLead': 'Kopieren Sie ihn jetzt. Er wird nicht noch einmal angezeigt.',
  'tokens.value': 'Token',
  'tokens.callHeading': 'In einem Skript verwenden',
  'tokens.call':
    'Senden Sie ihn mit jeder Anfrage. Diese Zeile fragt nach dem Token und sendet eine Anfrage mit ihm.',
  'tokens.back': 'Zurück zu den Tokens',
  'tokens.revoke': 'Beenden',
  'tokens.revokeHeading': 'Den Token {name} beenden?',
  'tokens.revokeLead': 'Skripte, die ihn noch benutzen, verlieren sofort den Zugriff auf Ihr Konto.',
  'tokens.done.revoked': 'Der Token ist beendet. Er hat keinen Zugriff mehr auf Ihr Konto.',
  'tokens.done.createdBefore':
    'Der Token wurde bereits erstellt und wird nicht noch einmal angezeigt. Wenn Sie ihn nicht kopiert haben, beenden Sie ihn und erstellen Sie einen anderen.',
  'tokens.loginHeading': 'Noch einmal anmelden',
  'tokens.loginLead': 'Um einen Token zu erstellen, müssen Sie sich vor Kurzem angemeldet haben.',
  'tokens.login': 'Anmelden',
};
