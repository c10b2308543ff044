import type { ActivityTexts } from '../../record/event-rules.ts';
import type { DEVICE_EVENTS } from './events.ts';

/** The sentences of the pages for devices. */
export const en = {
  'device.heading': 'Connect a device',
  'device.lead': 'Enter the code that your device or command line shows.',
  'device.leadFilledIn': 'Continue only if your device or command line shows exactly this code.',
  'device.code': 'Code',
  'device.codeHint': 'Eight letters, such as WDJB-MJHT.',
  'device.codeMissing': 'Enter the code that the device shows.',
  'device.codeUnknown':
    'This code is not open. Check each letter. If it is the same as on the device, it has expired or was used: start again on the device.',
  'device.throttled.one': 'Too many wrong codes. Try again in {count} minute.',
  'device.throttled.other': 'Too many wrong codes. Try again in {count} minutes.',
  'device.submit': 'Continue',
  'device.requestHeading': 'Connect {client} on a device?',
  'device.requestLead':
    'A device or command line that runs {client} is asking for access to your {brand} account.',
  'device.compare': 'The device in front of you must show this code:',
  'device.warning':
    'Did someone send you this code, or ask you to open this page? Then choose Deny: with your approval, that person gets the access, not you.',
  'device.address': 'The request came from',
  'device.sameNetwork': 'the network that you use now',
  'device.otherNetwork': 'not the network that you use now',
  'device.userAgent': 'The program says that it is',
  'device.requested': 'When',
  'device.now': 'just now',
  'device.ago.one': '{count} minute ago',
  'device.ago.other': '{count} minutes ago',
  'device.approve': 'Connect',
  'device.approvedHeading': 'Your device is connected',
  'device.approvedLead':
    'You can return to your device and close this page. You can disconnect it at any time, among your connected apps.',
  'device.deniedHeading': 'The device was refused',
  'device.deniedLead': 'It has no access to your account. You can close this page.',

  'activity.deviceAddress': 'Device at',
  'activity.device_authorized': 'A person connected a device',
  'activity.device_denied': 'A person did not connect a device',
} as const satisfies ActivityTexts<typeof DEVICE_EVENTS>;

export type DeviceText = keyof typeof en;

export const de: Readonly<Record<DeviceText, string>> = {
  'device.heading': 'Ein Gerät verbinden',
  'device.lead': 'Geben Sie den Code ein, den Ihr Gerät oder Ihre Befehlszeile anzeigt.',
  'device.leadFilledIn':
    'Fahren Sie nur fort, wenn Ihr Gerät oder Ihre Befehlszeile genau diesen Code anzeigt.',
  'device.code': 'Code',
  'device.codeHint': 'Acht Buchstaben, zum Beispiel WDJB-MJHT.',
  'device.codeMissing': 'Geben Sie den Code ein, den das Gerät anzeigt.',
  'device.codeUnknown':
    'Dieser Code ist nicht offen. Prüfen Sie jeden Buchstaben. Steht derselbe Code auf dem Gerät, dann ist er abgelaufen oder schon verwendet: Beginnen Sie auf dem Gerät noch einmal.',
  'device.throttled.one': 'Zu viele falsche Codes. Versuchen Sie es in {count} Minute noch einmal.',
  'device.throttled.other': 'Zu viele falsche Codes. Versuchen Sie es in {count} Minuten noch einmal.',
  'device.submit': 'Weiter',
  'device.requestHeading': '{client} auf einem Gerät verbinden?',
  'device.requestLead':
    'Ein Gerät oder eine Befehlszeile mit {client} möchte auf Ihr Konto bei {brand} zugreifen.',
  'device.compare': 'Das Gerät vor Ihnen muss diesen Code anzeigen:',
  'device.warning':
    'Hat Ihnen jemand diesen Code geschickt oder Sie gebeten, diese Seite zu öffnen? Dann lehnen Sie ab: Wenn Sie zustimmen, bekommt diese Person den Zugriff, nicht Sie.',
  'device.address': 'Die Anfrage kam von',
  'device.sameNetwork': 'dem Netz, das Sie jetzt verwenden',
  'device.otherNetwork': 'nicht aus dem Netz, das Sie jetzt verwenden',
  'device.userAgent': 'Das Programm nennt sich',
  'device.requested': 'Wann',
  'device.now': 'gerade eben',
  'device.ago.one': 'vor {count} Minute',
  'device.ago.other': 'vor {count} Minuten',
  'device.approve': 'Verbinden',
  'device.approvedHeading': 'Ihr Gerät ist verbunden',
  'device.approvedLead':
    'Sie können zu Ihrem Gerät zurückkehren und diese Seite schließen. Unter Ihren verbundenen Apps können Sie es jederzeit trennen.',
  'device.deniedHeading': 'Das Gerät wurde abgelehnt',
  'device.deniedLead': 'Es hat keinen Zugriff auf Ihr Konto. Sie können diese Seite schließen.',

  'activity.deviceAddress': 'Gerät',
  'activity.device_authorized': 'Eine Person hat ein Gerät verbunden',
  'activity.device_denied': 'Eine Person hat ein Gerät abgelehnt',
};
