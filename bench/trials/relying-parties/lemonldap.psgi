# The portal of LemonLDAP::NG with its files, under plackup.
use Plack::Builder;
use Lemonldap::NG::Portal::Main;

builder {
    enable 'Static', path => qr{^/static/}, root => '/usr/share/lemonldap-ng/portal/htdocs';
    enable 'Static', path => sub { s{^/javascript/}{} }, root => '/usr/share/javascript';
    Lemonldap::NG::Portal::Main->run( {} );
};
