// Sends the authorization response to the app. The page has not loaded completely yet, so that the history keeps no entry of it.
document.querySelector('#response').submit();
