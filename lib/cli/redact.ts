/** Takes passwords out of addresses in a text, whatever has put them there: a driver, a mistyped word, a stack. */
export function redact(text: string): string {
  return (
    text
      // Up to the last @ of the word: a password may hold any other sign.
      .replaceAll(/(:\/\/[^\s:/@]*):\S*@/g, '$1:***@')
      .replaceAll(/([?&][a-z_-]*(?:password|passwd|secret|token)=)[^\s&#]*/gi, '$1***')
  );
}
