# An application with Authlib's client for Flask.
import sys

from authlib.integrations.flask_client import OAuth
from flask import Flask, jsonify, redirect, session

issuer, client_id, client_secret, port = sys.argv[1:]
app = Flask(__name__)
app.secret_key = 'a secret'
gatehouse = OAuth(app).register(
    'gatehouse',
    server_metadata_url=f'{issuer}/.well-known/openid-configuration',
    client_id=client_id,
    client_secret=client_secret,
    client_kwargs={'scope': 'openid profile email'},
)


@app.get('/login')
def login():
    return gatehouse.authorize_redirect(f'http://localhost:{port}/callback')


@app.get('/callback')
def callback():
    token = gatehouse.authorize_access_token()
    session['user'] = {'claims': token['userinfo'], 'userinfo': gatehouse.userinfo(token=token)}
    return redirect('/user')


@app.get('/user')
def user():
    return jsonify(session['user'])


app.run('127.0.0.1', int(port))
