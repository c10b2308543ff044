/*
 * Schemes that no app may have for itself: a redirect to one of them would not open the app, but run text in the browser, read a
 * file, or begin a call.
 */

/** The permanent ones of IANA's registry "Uniform Resource Identifier (URI) Schemes" (RFC 7595). */
const PERMANENT = `
  aaa aaas about acap acct cap cid coap coap+tcp coap+ws coaps coaps+tcp coaps+ws crid data dav dict dns dtn example file ftp geo go
  gopher h323 http https iax icap im imap info ipn ipp ipps iris iris.beep iris.lwz iris.xpc iris.xpcs jabber ldap leaptofrogans
  mailto mid msrp msrps mtqp mupdate news nfs ni nih nntp opaquelocktoken pkcs11 pop pres reload rtsp rtsps rtspu secret-token
  service session shttp sieve sip sips sms snmp soap.beep soap.beeps stun stuns tag tel telnet tftp thismessage tip tn3270 turn
  turns tv urn vemmi vnc ws wss xcon xcon-userid xmlrpc.beep xmlrpc.beeps xmpp z39.50r z39.50s`;

/** Those of browsers. */
const OF_BROWSERS = `
  blob brave chrome chrome-error chrome-extension chrome-native chrome-search chrome-untrusted devtools edge extension feed
  filesystem firefox isolated-app jar javascript livescript mhtml mk mocha moz-extension moz-icon opera page-icon pcast resource
  safari-extension safari-web-extension vbs vbscript view-source vivaldi webcal wyciwyg x-safari-http x-safari-https`;

/** Those of operating systems, and of protocols that they open with a program of their own. */
const OF_SYSTEMS = `
  afp android-app app-prefs callto cifs content facetime facetime-audio fax finger git hcp help intent irc ircs itms itms-apps
  itms-appss itms-services ldaps magnet maps market message modem mms nntps onenote prefs rdp res rlogin rsync scp search shell sftp
  smb snews ssh svn telprompt vmrc wais x-apple-reminder x-man-page`;

const TAKEN: ReadonlySet<string> = new Set(
  [PERMANENT, OF_BROWSERS, OF_SYSTEMS].flatMap((names) => names.trim().split(/\s+/)),
);

// Of Windows and Office, such as `ms-settings:` and `search-ms:`, and of macOS and iOS.
const OF_SYSTEMS_PATTERN = /^(?:ms-|microsoft[-.]|x-apple[-.]|apple-|windows[-.])|-ms$/;

/**
 * Whether a scheme may be one that an app has for itself (RFC 8252 section 7.1): none of the protocols, browsers and systems. One
 * letter is a drive on Windows.
 *
 * @param scheme - in lower case, without the colon
 */
export function isPrivateUse(scheme: string): boolean {
  return scheme.length > 1 && !TAKEN.has(scheme) && !OF_SYSTEMS_PATTERN.test(scheme);
}
