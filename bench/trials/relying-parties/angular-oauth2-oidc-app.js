/* global CONFIGURATION, history, location */
// The application that angular-oauth2-oidc.js serves. Without a build by Angular, templates are compiled in the browser.
// oxlint-disable-next-line import/no-unassigned-import -- it registers itself
import '@angular/compiler';

import { provideHttpClient } from '@angular/common/http';
import { Component, signal } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { OAuthService, provideOAuthClient } from 'angular-oauth2-oidc';

class App {
  shown = signal('');
}
Component({ selector: 'app-root', template: '{{ shown() }}' })(App);

const app = await bootstrapApplication(App, { providers: [provideHttpClient(), provideOAuthClient()] });
const oauth = app.injector.get(OAuthService);

function show(value) {
  app.components[0].instance.shown.set(JSON.stringify(value));
  app.tick();
}

async function showUser() {
  const { sub } = oauth.getIdentityClaims();
  const { info } = await oauth.loadUserProfile();
  show({ claims: { sub }, userinfo: info });
}

const WORKS = {
  login: () => oauth.initCodeFlow(),
  async callback() {
    await oauth.tryLoginCodeFlow();
    await showUser();
    history.replaceState(null, '', '/user');
  },
  user: showUser,
  async refresh() {
    const before = oauth.getRefreshToken();
    await oauth.refreshToken();
    show({ refreshed: oauth.getRefreshToken() !== before });
  },
  logout: () => oauth.logOut(),
  left: () => show({ signedIn: oauth.hasValidAccessToken() }),
};

try {
  oauth.configure(CONFIGURATION);
  await oauth.loadDiscoveryDocument();
  await WORKS[location.pathname.slice(1)]();
} catch (error) {
  show({ failed: String(error?.error?.error ?? error) });
}
