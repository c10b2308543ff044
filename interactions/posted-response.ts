import type { PostedResponse } from '../lib/contracts/index.ts';
import { destination } from './navigation.ts';
import type { PageRequest } from './page-request.ts';
import { plain, sentence } from './sentence.ts';
import { nameOfApp } from './unregistered.ts';

/**
 * Shows the page whose form posts an authorization response to the app (OAuth 2.0 Form Post Response Mode). A script sends the form;
 * without one, the user presses the button.
 */
export function showPostedResponse(
  { show, text }: PageRequest,
  { action, client, fields }: PostedResponse,
): void {
  show({
    view: 'post',
    heading: sentence(text['post.heading'], { client: nameOfApp(client, text) }),
    lead: sentence(text['post.lead']),
    // The app may redirect.
    formsStayHere: false,
    scripts: ['post.js'],
    action,
    fields: Object.entries(fields),
    button: plain(sentence(text['logout.continue'], { name: destination(action, text) })),
  });
}
