#!/bin/sh
# Calls the open platform with a signed request:
#   OPEN_APP_KEY=app_... OPEN_APP_SECRET=plinth_open_... ./sign.sh POST https://host/api/v1/open/echo '{"message":"hi"}'
# Names and values in the query are already percent-encoded (RFC 3986, upper-case hex); their order does not matter.
set -eu
method=$1 url=$2 body=${3-}
target=/api/v${url#*/api/v}
path=${target%%\?*}
query=$(printf '%s' "${target#"$path"}" | cut -c 2- | tr '&' '\n' | sed '/^$/d;/=/!s/$/=/' |
  LC_ALL=C sort -t = -k 1,1 -k 2 | paste -s -d '&' -)
sha256() { openssl dgst -sha256 -r "$@" | cut -d ' ' -f 1; }
timestamp=${OPEN_TIMESTAMP:-$(date +%s)}
nonce=${OPEN_NONCE:-$(openssl rand -hex 16)}
signature=$(printf '%s\n%s\n%s\n%s\n%s\n%s' "$method" "$path" "$query" "$(printf '%s' "$body" | sha256)" \
  "$timestamp" "$nonce" | sha256 -hmac "$OPEN_APP_SECRET")
set -- --silent --show-error --globoff --path-as-is --request "$method"
[ -z "$body" ] || set -- "$@" --header 'Content-Type: application/json' --data-binary "$body"
curl "$@" --header "X-Open-App-Key: $OPEN_APP_KEY" --header "X-Open-Timestamp: $timestamp" \
  --header "X-Open-Nonce: $nonce" --header "X-Open-Signature: $signature" "$url"
