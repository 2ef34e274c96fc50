#!/bin/sh
# Calls a sidecar with grpcurl. No proto file is needed: grpcurl gets the contract from the
# sidecar's reflection service. GRPCURL names the binary where it is not on the PATH, DESCRIPTOR_SET
# the descriptor set, which describes the contract where reflection is switched off.

grpcurl=${GRPCURL:-grpcurl}
failed=0

# expect NAME TEXT...: the response of the last call must contain every TEXT, in this order.
expect() {
  name=$1
  shift
  rest=$answer
  for text in "$@"; do
    case $rest in
      *"$text"*) rest=${rest#*"$text"} ;;
      *)
        echo "FAIL $name: no '$text' at its place in: $(printf '%s' "$answer" | tr -s '[:space:]' ' ')"
        failed=1
        return
        ;;
    esac
  done
  echo "ok $name"
}

answer=$("$grpcurl" -plaintext "$OUTRIGGER_ADDR" list 2>&1)
expect list grpc.health.v1.Health outrigger.v1.InferenceService

answer=$("$grpcurl" -plaintext "$OUTRIGGER_ADDR" describe outrigger.v1.InferenceService 2>&1)
expect describe \
  'rpc Complete ( .outrigger.v1.Request ) returns ( .outrigger.v1.Response );' \
  'rpc Stream ( .outrigger.v1.Request ) returns ( stream .outrigger.v1.StreamEvent );'

answer=$("$grpcurl" -plaintext "$OUTRIGGER_ADDR" grpc.health.v1.Health/Check 2>&1)
expect health '"status": "SERVING"'

answer=$("$grpcurl" -plaintext -max-time 20 \
  -d '{"model": "sim-text", "messages": [{"role": "ROLE_USER", "content": [{"text": "Say hello."}]}]}' \
  "$OUTRIGGER_ADDR" outrigger.v1.InferenceService/Complete 2>&1)
expect complete '"role": "ROLE_ASSISTANT"' '"text": "' '"reason": "REASON_STOP"' '"totalTokens": '

answer=$("$grpcurl" -plaintext -max-time 20 \
  -d '{"model": "sim-text", "messages": [{"role": "ROLE_USER", "content": [{"text": "Say hello."}]}]}' \
  "$OUTRIGGER_ADDR" outrigger.v1.InferenceService/Stream 2>&1)
expect stream '"streamStart": ' '"textStart": ' '"textDelta": ' '"textEnd": ' '"finish": '

# grpcurl prints the details of a status as JSON, since reflection has their types, too.
answer=$("$grpcurl" -plaintext -max-time 20 \
  -d '{"model": "sim-text:status=429,retry_after=2", "messages": [{"role": "ROLE_USER", "content": [{"text": "Hello?"}]}]}' \
  "$OUTRIGGER_ADDR" outrigger.v1.InferenceService/Complete 2>&1)
expect error_details 'Code: ResourceExhausted' \
  outrigger.v1.InferenceError '"kind": "ERROR_KIND_RATE_LIMIT"' '"httpStatusCode": 429' \
  google.rpc.ErrorInfo '"reason": "RATE_LIMIT"' \
  google.rpc.RetryInfo '"retryDelay": "2s"'

answer=$("$grpcurl" -plaintext -protoset "$DESCRIPTOR_SET" -max-time 20 \
  -d '{"model": "sim-text", "messages": [{"role": "ROLE_USER", "content": [{"text": "Say hello."}]}]}' \
  "$OUTRIGGER_ADDR" outrigger.v1.InferenceService/Complete 2>&1)
expect descriptor_set '"role": "ROLE_ASSISTANT"' '"text": "' '"reason": "REASON_STOP"'

# A sidecar that is reached over the network proves who it is by its certificate, and asks for the caller's.
tls=$OUTRIGGER_TLS_FOLDER
answer=$("$grpcurl" -cacert "$tls/ca.crt" -cert "$tls/client.crt" -key "$tls/client.key" -max-time 20 \
  -d '{"model": "sim-text", "messages": [{"role": "ROLE_USER", "content": [{"text": "Say hello."}]}]}' \
  "$OUTRIGGER_TLS_ADDR" outrigger.v1.InferenceService/Complete 2>&1
  "$grpcurl" -cacert "$tls/ca.crt" -max-time 5 "$OUTRIGGER_TLS_ADDR" list 2>&1
  "$grpcurl" -cert "$tls/client.crt" -key "$tls/client.key" -max-time 5 "$OUTRIGGER_TLS_ADDR" list 2>&1)
expect tls '"role": "ROLE_ASSISTANT"' '"text": "' 'certificate required' 'unknown authority'

exit $failed
