# A Django site that signs users in with python-social-auth.
import os
import sys

import django
from django.conf import settings
from django.core.management import call_command, execute_from_command_line

issuer, client_id, client_secret, port = sys.argv[1:]
settings.configure(
    ALLOWED_HOSTS=['localhost'],
    ROOT_URLCONF=__name__,
    SECRET_KEY='a secret of this site',
    DATABASES={
        'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': os.environ['FOLDER'] + '/django.sqlite'}
    },
    DEFAULT_AUTO_FIELD='django.db.models.AutoField',
    INSTALLED_APPS=[
        'django.contrib.auth',
        'django.contrib.contenttypes',
        'django.contrib.sessions',
        'social_django',
    ],
    MIDDLEWARE=[
        'django.contrib.sessions.middleware.SessionMiddleware',
        'django.contrib.auth.middleware.AuthenticationMiddleware',
    ],
    AUTHENTICATION_BACKENDS=['social_core.backends.open_id_connect.OpenIdConnectAuth'],
    LOGIN_REDIRECT_URL='/user',
    SOCIAL_AUTH_OIDC_OIDC_ENDPOINT=issuer,
    SOCIAL_AUTH_OIDC_KEY=client_id,
    SOCIAL_AUTH_OIDC_SECRET=client_secret,
    # The claims of userinfo that the site keeps.
    SOCIAL_AUTH_OIDC_EXTRA_DATA=['sub', 'name', 'email', 'refresh_token'],
)
django.setup()

# Django has to be set up before.
from django.http import JsonResponse  # noqa: E402
from django.shortcuts import redirect  # noqa: E402
from django.urls import include, path  # noqa: E402
from social_django.utils import load_strategy  # noqa: E402


def user(request):
    signed_in = request.user.social_auth.get()
    return JsonResponse({'claims': {'sub': signed_in.uid}, 'userinfo': signed_in.extra_data})


def refresh(request):
    signed_in = request.user.social_auth.get()
    token = signed_in.extra_data['refresh_token']
    signed_in.refresh_token(load_strategy())
    refreshed = signed_in.extra_data['refresh_token'] != token
    return JsonResponse({'refreshed': refreshed}, json_dumps_params={'separators': (',', ':')})


urlpatterns = [
    path('login', lambda request: redirect('social:begin', 'oidc')),
    path('user', user),
    path('refresh', refresh),
    path('', include('social_django.urls', namespace='social')),
]
call_command('migrate', verbosity=0)
execute_from_command_line([sys.argv[0], 'runserver', '--noreload', f'127.0.0.1:{port}'])
