import type { ClientSource } from '../../contracts/client-sources.ts';

/** Apps that have registered themselves (RFC 7591). */
export const SELF_REGISTERED: ClientSource = {
  name: 'dynamic',
  about: 'by the app itself',
  isLive: false,
  texts: {
    en: {
      name: 'By the app itself',
      caution:
        'It calls itself “{client}”; anybody can register an app at {brand} under this name. Authorize it only if you have just started this yourself.',
    },
    de: {
      name: 'Von der App selbst',
      caution:
        'Sie nennt sich „{client}“; bei {brand} kann jeder eine App unter diesem Namen anmelden. Erlauben Sie den Zugriff nur, wenn Sie das hier eben selbst begonnen haben.',
    },
  },
};

/** Apps that describe themselves in a document, whose URL is their id (OAuth Client ID Metadata Document). */
export const OF_DOCUMENT: ClientSource = {
  name: 'metadata_document',
  about: 'by its metadata document',
  isLive: true,
  decides: ['name', 'redirectUris', 'confidential', 'keys', 'native'],
  texts: {
    en: {
      name: 'By nobody: it has a document',
      caution:
        '{name} calls its app “{client}”. Authorize it only if you know {name} and have just started this yourself.',
      fixed:
        'This app describes itself in a document at the address that is its client ID. Its name and its redirect URIs are changed there.',
      returns:
        'It cannot be deleted while it is disabled: its document would let it back in. Leave it disabled, or enable it first.',
    },
    de: {
      name: 'Von niemandem: sie hat ein Dokument',
      caution:
        '{name} nennt diese App „{client}“. Erlauben Sie den Zugriff nur, wenn Sie {name} kennen und das hier eben selbst begonnen haben.',
      fixed:
        'Diese App beschreibt sich in einem Dokument unter der Adresse, die ihre Client-ID ist. Name und Redirect-URIs werden dort geändert.',
      returns:
        'Solange sie deaktiviert ist, kann sie nicht gelöscht werden: Ihr Dokument würde sie wieder hereinlassen. Lassen Sie sie deaktiviert, oder aktivieren Sie sie zuerst.',
    },
  },
};
