#!/bin/bash
# Runs inside of the booted root: the first hour of docs/operate.md, with the commands of that page, and what goes wrong
# in it. Each step is a line of /root/told; the last line of a run that went well is "passed".
set -Eeu
exec > /root/told 2>&1
end() { systemctl --no-block poweroff; }
trap 'echo "failed in line $LINENO, after $SECONDS s"; journalctl -u heliograph --no-pager | tail -n 40; end' ERR

page=/root/operate.md
package=$(echo /root/heliograph_*.deb)
settings=/etc/heliograph/heliograph.toml

step() { echo "--- $* ($SECONDS s)"; }
# A command that the page has, in its words.
guide() {
    if ! grep --quiet --fixed-strings -- "$1" "$page"; then
        echo "docs/operate.md has no command \"$1\""
        return 1
    fi
    echo "\$ $1" >&2
    eval "$1"
}
# The block of the page in a language that has a word in it.
block() {
    awk -v fence="\`\`\`$1" -v word="$2" '
        $0 == "```" && inside { inside = 0; if (index(text, word)) { printf "%s", text; exit } }
        inside { text = text $0 "\n" }
        $0 == fence { inside = 1; text = "" }' "$page" > /root/block
    test -s /root/block
    cat /root/block
}
# Newcomers ask again when nothing answers yet.
curl() { command curl --silent --show-error --fail --retry 20 --retry-all-errors --retry-delay 1 "$@"; }
# A command that must fail, and what it must say.
fails() {
    if "${@:2}" > /root/failure 2>&1; then
        echo "this did not fail: ${*:2}"
        return 1
    fi
    cat /root/failure
    grep --quiet -- "$1" /root/failure
}
# A line of the log, which may come a moment later.
logged() {
    for _ in $(seq 50); do
        if journalctl -u heliograph --no-pager | grep -- "$1" | tail -n 1 | grep .; then
            return 0
        fi
        sleep 0.5
    done
    echo "the log has no line with \"$1\""
    return 1
}
until_it_is() {
    for _ in $(seq 150); do
        if eval "$1" > /dev/null 2>&1; then
            return 0
        fi
        sleep 1
    done
    echo "this did not come: $1"
    return 1
}
# A certificate of an authority of one's own, in NAME.pem and NAME.key.
certificate() {
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$2" -keyout "$1.key" -out "$1.csr" 2> /dev/null
    openssl x509 -req -in "$1.csr" -CA /root/ca.pem -CAkey /root/ca.key -CAcreateserial -days 30 -out "$1.pem" \
        -extfile <(echo "subjectAltName=DNS:$2") 2> /dev/null
}
# The editor of a newcomer who writes what is in /root/wanted at the end of the file.
printf '#!/bin/sh\ncat /root/wanted >> "$1"\n' > /root/editor
chmod 755 /root/editor
export EDITOR=/root/editor
echo '127.0.0.1 localhost heliograph.example.org' >> /etc/hosts
openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj '/CN=An authority' -keyout /root/ca.key -out /root/ca.pem 2> /dev/null
export SSL_CERT_FILE=/root/ca.pem
cd /root

step "the package goes in without a network, and starts nothing"
guide "dpkg -i ${package#/root/}"
cmp $page /usr/share/doc/heliograph/operate.md
test "$(systemctl is-active heliograph.service || true)" = inactive
test "$(stat --format=%U:%G:%a $settings)" = root:heliograph:640

step "a mistake in the settings is told before the start"
cp -a $settings /root/settings.bak
echo 'publik_url = "https://heliograph.example.org"' > /root/wanted
guide "\$EDITOR $settings"
fails 'the nearest is `public_url`' heliograph config check $settings
cp -a /root/settings.bak $settings

step "TLS: what is missing is told by its name, and what to do"
certificate /root/site heliograph.example.org
cp /root/site.pem /etc/heliograph/fullchain.pem
install -m 0600 /root/site.key /etc/heliograph/privkey.pem
block toml tls_key > /root/wanted
echo 'allow_outbound = "127.0.0.0/8"' >> /root/wanted
guide "\$EDITOR $settings"
guide "heliograph config check $settings"
fails 'systemctl status heliograph.service' systemctl start heliograph.service
logged 'privkey.pem: .*may not read it.*chgrp'
guide 'chgrp heliograph /etc/heliograph/fullchain.pem /etc/heliograph/privkey.pem'
guide 'chmod 0640 /etc/heliograph/fullchain.pem /etc/heliograph/privkey.pem'
systemctl restart heliograph.service || true
logged 'cannot listen on 0.0.0.0:443.*CAP_NET_BIND_SERVICE'
mkdir -p /etc/systemd/system/heliograph.service.d
block ini AmbientCapabilities= > /etc/systemd/system/heliograph.service.d/ports.conf
systemctl daemon-reload

step "the service runs under its own user, with TLS"
guide 'systemctl enable --now heliograph.service'
guide 'URL=https://heliograph.example.org'
guide 'curl $URL/healthz' | grep --quiet ok
guide 'curl $URL/readyz' | grep --quiet ready
command curl --silent --output /dev/null --write-out '%{http_code} %{redirect_url}\n' http://heliograph.example.org/x |
    grep --quiet '^308 https://heliograph.example.org/x$'
systemctl show heliograph.service --property=User,MainPID,NotifyAccess
exposed() { systemd-analyze security heliograph.service --no-pager | tail -n 1; }
exposed
exposed | grep --quiet ' [01]\.[0-9] '

step "keys"
guide 'cat /var/lib/heliograph/heliograph.redb.key' > /dev/null
fails 'the operator key' heliograph db info --to $URL
guide "export HELIOGRAPH_ADMIN_KEY=\$(sed -n 's/^admin //p' /var/lib/heliograph/heliograph.redb.key)"
guide 'heliograph db info --to $URL'
fails 'SSL_CERT_FILE' env --unset=SSL_CERT_FILE heliograph db info --to $URL
fails 'no server listens there' heliograph db info --to https://heliograph.example.org:444
fails 'in use by another process' heliograph --data /var/lib/heliograph/heliograph.redb db info

step "an alert: what takes it is not there yet, and the log says so"
json='Content-Type: application/json'
guide 'KEY=$(curl $URL/api-keys/signup --json '"'"'{"email":"you@example.org"}'"'"' | sed '"'"'s/.*"api_key":"\([^"]*\)".*/\1/'"'"')'
grep --quiet '^HOOK=https://' "$page"
HOOK=http://127.0.0.1:9000/in
guide 'curl $URL/api/alerts/subscribe -H "X-API-Key: $KEY" --json "{\"webhook_url\":\"$HOOK\"}"' > /dev/null
test_alert() { guide 'curl $URL/api/alerts/webhook-test -H "X-API-Key: $KEY" --json '"'{}'"; }
test_alert | grep --quiet '"delivered":false'
logged 'a request to 127.0.0.1 failed: .*Connection refused'
python3 -c '
import http.server
class Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        open("/root/alerts", "ab").write(self.rfile.read(int(self.headers["content-length"])) + b"\n")
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", 9000), Taker).serve_forever()' 2> /root/taker &
until_it_is '(exec 3<> /dev/tcp/127.0.0.1/9000)'
test_alert | grep --quiet '"delivered":true'
grep --quiet incident.test /root/alerts

step "data: a source that cannot be asked is told; a file goes in; an incident follows, and its alert arrives"
echo 'fetch_sources = "ooni-aggregation,ooni-measurements,ioda"' > /root/wanted
grep --quiet --fixed-strings "$(cat /root/wanted)" "$page"
guide "\$EDITOR $settings"
guide 'systemctl reload heliograph'
logged 'settings read again; changed: fetch_sources'
logged 'fetching .* failed.* the next try is at'
printf 'country,kind,start,cause\nKE,shutdown,%s,ordered\n' "$(date --utc +%FT%H:00:00Z)" > outages.csv
fails 'shutdowns' heliograph import shutdown outages.csv --to $URL
guide 'heliograph import outages outages.csv --to $URL'
guide 'curl $URL/data/sources' | grep --quiet '"outages"'
until_it_is 'grep incident.created /root/alerts'
tail -n 1 /root/alerts
guide 'heliograph country KE --url $URL'

step "monitoring"
block yaml job_name > /etc/prometheus/prometheus.yml
guide 'cp /usr/share/doc/heliograph/monitoring/alerts.yml /etc/prometheus/'
guide 'systemctl restart prometheus'
up() { guide "curl 'http://127.0.0.1:9090/api/v1/query?query=up{job=\"heliograph\"}' -g"; }
until_it_is "up | grep '\"1\"'"
up | tail -n 1
curl http://127.0.0.1:9090/api/v1/rules | grep --quiet HeliographDown
curl http://127.0.0.1:9187/metrics | grep '^heliograph_build_info'

step "a backup of the running server, checked; and the one of every day"
guide 'mkdir -p -m 0700 /backup'
guide 'heliograph db backup --to $URL /backup/heliograph.redb'
fails 'the second is the key file' heliograph db restore --check /backup/heliograph.redb
guide 'cp /var/lib/heliograph/heliograph.redb.key /backup/heliograph.redb.key'
guide 'heliograph db restore --check /backup/heliograph.redb'
mkdir -p /etc/cron.daily
block sh '#!/bin/sh' > /etc/cron.daily/heliograph
chmod 0700 /etc/cron.daily/heliograph
env --unset=HELIOGRAPH_ADMIN_KEY /etc/cron.daily/heliograph
test -s "/backup/$(date +%F)/heliograph.redb"

step "the socket, and an upgrade to a newer package that refuses nobody"
guide 'systemctl stop heliograph'
mkdir -p /etc/systemd/system/heliograph.socket.d
block ini ListenStream=443 > /etc/systemd/system/heliograph.socket.d/port.conf
systemctl daemon-reload
systemctl enable --now heliograph.socket heliograph.service
dpkg-deb --raw-extract "$package" tree
sed -i 's/^Version: .*/&+next/' tree/DEBIAN/control
dpkg-deb -Znone --build tree newer.deb > /dev/null
main() { systemctl show heliograph.service --property=MainPID; }
before=$(main)
while :; do
    command curl --silent --fail --max-time 60 --output /dev/null --write-out '%{time_total}\n' $URL/healthz >> asked ||
        echo refused >> asked
done &
asking=$!
dpkg -i newer.deb
test "$before" != "$(main)"
sleep 2
kill $asking
if grep refused asked; then false; fi
longest=$(sort --numeric-sort asked | tail -n 1)
echo "$(wc --lines < asked) requests while one process took over from the other; the longest waited $longest s"
# At most 2 s on a machine that does nothing else, which this one may do.
awk -v longest="$longest" 'BEGIN { exit longest > 10 }'
grep --quiet 'public_url = "https://heliograph.example.org"' $settings
logged 'the data file is closed after'

step "the data are lost, and the backup is put in place"
systemctl stop heliograph.socket
guide 'systemctl stop heliograph'
rm /var/lib/heliograph/*
guide 'heliograph --data /var/lib/heliograph/heliograph.redb db restore --replace /backup/heliograph.redb'
test "$(stat --format=%U:%a /var/lib/heliograph/heliograph.redb)" = heliograph:600
systemctl start heliograph.socket
guide 'systemctl start heliograph'
until_it_is "curl '$URL/data/incidents?country=KE' | grep 'Internet shut down in Kenya'"

step "a certificate from an authority, by ACME"
systemctl stop heliograph.socket heliograph.service
certificate /root/pebble localhost
cat > pebble.json <<END
{"pebble": {"listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000", "certificate": "/root/pebble.pem",
 "privateKey": "/root/pebble.key", "httpPort": 80, "tlsPort": 443, "ocspResponderURL": ""}}
END
PEBBLE_VA_NOSLEEP=1 PEBBLE_WFE_NONCEREJECT=0 pebble -config pebble.json > pebble.log 2>&1 &
cp /root/ca.pem /etc/heliograph/ca.pem
cp -a /root/settings.bak $settings
(block toml tls_key | grep --invert-match '^tls_'; block toml acme_domains) > /root/wanted
printf 'acme_directory = "https://localhost:14000/dir"\nacme_roots = "/etc/heliograph/ca.pem"\n' >> /root/wanted
guide "\$EDITOR $settings"
guide "heliograph config check $settings"
systemctl start heliograph.socket heliograph.service
logged 'the authority gave a certificate'
curl https://localhost:15000/roots/0 > acme.pem
SSL_CERT_FILE=/root/acme.pem
guide 'curl $URL/readyz' | grep --quiet ready

step "the package goes, and the data stay"
dpkg --remove heliograph
test -s /var/lib/heliograph/heliograph.redb
test "$(systemctl is-active heliograph.service heliograph.socket || true)" = "$(printf 'inactive\ninactive')"
echo "the first hour took $SECONDS s"
echo passed
end
