import session from 'express-session';
import passport from 'passport';
import OpenIDConnectStrategy from 'passport-openidconnect';

import { createApp, listen, settings } from './program.js';

const { clientId, clientSecret, issuer, redirectUri } = settings;
// This library has no discovery: its users copy the URLs from the document.
const answer = await fetch(`${issuer}/.well-known/openid-configuration`);
const metadata = await answer.json();
const strategy = new OpenIDConnectStrategy(
  {
    issuer,
    authorizationURL: metadata.authorization_endpoint,
    tokenURL: metadata.token_endpoint,
    userInfoURL: metadata.userinfo_endpoint,
    clientID: clientId,
    clientSecret,
    callbackURL: redirectUri,
    scope: ['profile', 'email'],
    skipUserProfile: false,
  },
  (_issuer, { displayName: name, emails: [{ value: email }], id: sub }, done) =>
    done(null, { claims: { sub }, userinfo: { sub, name, email } }),
);
passport.use(strategy);
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user, done) => done(null, user));

const app = createApp();
app.use(session({ secret: 'a secret', resave: false, saveUninitialized: false }));
app.use(passport.session());
app.get('/login', passport.authenticate('openidconnect'));
app.get('/callback', passport.authenticate('openidconnect', { successRedirect: '/user' }));
app.get('/user', (request, response) => response.json(request.user));
listen(app);
