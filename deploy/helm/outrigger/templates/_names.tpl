{{/* Name of the resources: the release's, with "outrigger" unless it contains it. */}}
{{- define "outrigger.name" -}}
{{- $name := contains "outrigger" .Release.Name | ternary .Release.Name (printf "%s-outrigger" .Release.Name) -}}
{{ $name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Labels by which the pods are found. */}}
{{- define "outrigger.selector" -}}
app.kubernetes.io/name: outrigger
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels of each resource. */}}
{{- define "outrigger.labels" -}}
{{ include "outrigger.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The configuration file: `config`, and what the other values say. */}}
{{- define "outrigger.config" -}}
{{- $host := printf "%s.%s" (include "outrigger.name" .) .Release.Namespace -}}
{{- $config := deepCopy .Values.config -}}
{{- $_ := set $config "listen" "0.0.0.0:6190" -}}
{{- $_ := set $config "drain_timeout" (printf "%vs" .Values.drainSeconds) -}}
{{- $_ := set $config "allowed_hosts" (append (get .Values.config "allowed_hosts" | default list) $host) -}}
{{- if .Values.accessKeysSecret -}}
{{- $_ := set $config "access_keys_file" "/run/secrets/outrigger/access/keys.yaml" -}}
{{- else -}}
{{- $_ := set $config "allow_unauthenticated" .Values.allowUnauthenticated -}}
{{- end -}}
{{- if .Values.database.secret -}}
{{- $store := dict "store_file" "/run/secrets/outrigger/database/url" -}}
{{- $_ := set $config "runs" (merge $store (get .Values.config "runs" | default dict)) -}}
{{- end -}}
{{- if .Values.tlsSecret -}}
{{- $files := dict "certificate_file" "/run/secrets/outrigger/tls/tls.crt" "key_file" "/run/secrets/outrigger/tls/tls.key" -}}
{{- $_ := set $config "tls" $files -}}
{{- end -}}
{{ toYaml $config }}
{{- end }}

{{/* Secrets that are mounted, by their folder below /run/secrets/outrigger. */}}
{{- define "outrigger.secrets" -}}
{{- $secrets := dict "providers" .Values.providerKeysSecret "access" .Values.accessKeysSecret -}}
{{- $_ := set $secrets "database" .Values.database.secret -}}
{{- $_ := set $secrets "tls" .Values.tlsSecret -}}
{{- range $folder, $secret := $secrets -}}
{{- if $secret }}
{{ $folder }}: {{ $secret }}
{{- end }}
{{- end }}
{{- end }}
