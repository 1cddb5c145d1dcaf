#!/bin/bash
# Runs inside of the booted root: what docs/operate.md says for the first hour, a backup drill and an upgrade. Each step
# is a line of /root/told; the last line of a run that went well is "passed".
set -eu
exec > /root/told 2>&1
trap 'echo "failed in line $LINENO"; journalctl -u heliograph --no-pager | tail -n 40; systemctl --no-block poweroff' ERR

step() { echo "--- $*"; }
url=https://heliograph.test
ask() { curl --silent --show-error --fail --retry 20 --retry-all-errors --retry-delay 1 --cacert /root/ca.pem "$@"; }

step "the package goes in without a network, and starts nothing"
dpkg --install /root/heliograph.deb
test "$(systemctl is-active heliograph.service || true)" = inactive
test "$(stat --format=%U:%G:%a /etc/heliograph/heliograph.toml)" = root:heliograph:640

step "the settings are checked before the start"
openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=heliograph.test -addext subjectAltName=DNS:heliograph.test \
    -keyout /etc/heliograph/privkey.pem -out /root/ca.pem 2> /dev/null
cp /root/ca.pem /etc/heliograph/fullchain.pem
chgrp heliograph /etc/heliograph/*.pem
chmod 0640 /etc/heliograph/*.pem
echo '127.0.0.1 heliograph.test' >> /etc/hosts
cat >> /etc/heliograph/heliograph.toml <<END
public_url = "$url"
tls_certificate = "/etc/heliograph/fullchain.pem"
tls_key = "/etc/heliograph/privkey.pem"
metrics_listen = "127.0.0.1:9187"
allow_outbound = "127.0.0.0/8"
END
heliograph config check /etc/heliograph/heliograph.toml
sed -i 's/^ListenStream=.*/ListenStream=443/' /lib/systemd/system/heliograph.socket
systemctl daemon-reload

step "the service runs under its own user, on the socket, with TLS"
systemctl enable --now heliograph.socket heliograph.service
systemctl show heliograph.service --property=User,MainPID,NotifyAccess
ask "$url/healthz"
ask "$url/readyz"
systemd-analyze security heliograph.service --no-pager | tail -n 1
exposure=$(systemd-analyze security heliograph.service --no-pager | sed -n 's/.*: \([0-9.]*\) OK.*/\1/p')
test "${exposure%%.*}" -lt 2

step "data: an agent with a message"
json='Content-Type: application/json'
ada=$(ask -H "$json" -d '{"name":"Ada"}' "$url/v1/agent/register")
key=$(printf %s "$ada" | sed 's/.*"api_key":"\([^"]*\)".*/\1/')
did=$(printf %s "$ada" | sed 's/.*"did":"\([^"]*\)".*/\1/')
ask -H "$json" -H "X-Agent-Key: $key" -d "{\"to\":\"$did\",\"message\":\"kept\"}" "$url/v1/agent/send" > /dev/null

step "the operator's key, the settings in force, and the metrics"
HELIOGRAPH_ADMIN_KEY=$(sed -n 's/^admin //p' /var/lib/heliograph/heliograph.redb.key)
export HELIOGRAPH_ADMIN_KEY
ask -H "X-Admin-Key: $HELIOGRAPH_ADMIN_KEY" "$url/v1/admin/db" > /dev/null
ask -H "X-Admin-Key: $HELIOGRAPH_ADMIN_KEY" "$url/v1/admin/settings" | grep --quiet '"name":"public_url","value":"https://heliograph.test"'
ask http://127.0.0.1:9187/metrics | grep '^heliograph_build_info'

step "an alert arrives"
python3 -c '
import http.server
class Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        open("/root/alert", "wb").write(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", 9000), Taker).serve_forever()' 2> /dev/null &
for _ in $(seq 100); do
    (exec 3<> /dev/tcp/127.0.0.1/9000) 2> /dev/null && break
    sleep 0.2
done
token=$(ask -H "$json" -d '{"email":"ada@example.org"}' "$url/api-keys/signup" | sed 's/.*"\(svc_[^"]*\)".*/\1/')
ask -H "$json" -H "X-API-Key: $token" -d '{"webhook_url":"http://127.0.0.1:9000/alert"}' "$url/api/alerts/subscribe" > /dev/null
ask -H "$json" -H "X-API-Key: $token" -d '{}' "$url/api/alerts/webhook-test"
cat /root/alert
echo

step "a backup of the running server, checked"
mkdir /backup
ask -H "X-Admin-Key: $HELIOGRAPH_ADMIN_KEY" "$url/v1/admin/db/backup" --output /backup/heliograph.redb
cp /var/lib/heliograph/heliograph.redb.key /backup/heliograph.redb.key
heliograph db restore --check /backup/heliograph.redb

step "the upgrade: the same package again; a restart refuses nobody"
dpkg --install /root/heliograph.deb
systemctl restart heliograph.service
ask "$url/healthz"
grep --quiet 'public_url = "https://heliograph.test"' /etc/heliograph/heliograph.toml

step "the data are lost, and the backup is put in place"
systemctl stop heliograph.socket heliograph.service
rm /var/lib/heliograph/*
cp /backup/heliograph.redb.key /var/lib/heliograph/heliograph.redb.key
heliograph --data /var/lib/heliograph/heliograph.redb db restore --replace /backup/heliograph.redb
chown heliograph:heliograph /var/lib/heliograph/*
systemctl start heliograph.socket heliograph.service
ask -H "X-Agent-Key: $key" "$url/v1/agent/receive" | grep --quiet '"kept"'

step "the package goes, and the data stay"
dpkg --remove heliograph
test -s /var/lib/heliograph/heliograph.redb
echo passed
systemctl --no-block poweroff
