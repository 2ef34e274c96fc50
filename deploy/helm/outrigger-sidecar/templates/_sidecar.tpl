{{/*
Templates for a service's chart, which has this chart as a dependency with the alias `outrigger`. Each is included with
the context of the service's chart.
*/}}

{{/* Address of the sidecar. */}}
{{- define "outrigger-sidecar.address" -}}
{{- if eq .Values.outrigger.mode "socket" -}} unix:///run/outrigger/outrigger.sock {{- else -}} 127.0.0.1:6190 {{- end -}}
{{- end }}

{{/* Name of the ConfigMap and of the PodMonitor. */}}
{{- define "outrigger-sidecar.name" -}}
{{ printf "%s-outrigger" .Release.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The sidecar: an item of `initContainers`. */}}
{{- define "outrigger-sidecar.container" -}}
{{- $values := .Values.outrigger -}}
- name: outrigger
  image: "{{ $values.image.repository }}:{{ $values.image.tag }}"
  imagePullPolicy: {{ $values.image.pullPolicy }}
  restartPolicy: Always
  env:
    - name: OUTRIGGER_CONFIG
      value: /etc/outrigger/outrigger.yaml
    {{- with $values.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - name: outrigger-admin
      containerPort: 6191
  startupProbe:
    httpGet: { path: /readyz, port: outrigger-admin }
    periodSeconds: 1
    failureThreshold: 30
  readinessProbe:
    httpGet: { path: /readyz, port: outrigger-admin }
    periodSeconds: 5
  livenessProbe:
    httpGet: { path: /livez, port: outrigger-admin }
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 3
  resources:
    {{- toYaml $values.resources | nindent 4 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: { drop: [ALL] }
    seccompProfile: { type: RuntimeDefault }
  volumeMounts:
    - { name: outrigger-config, mountPath: /etc/outrigger, readOnly: true }
    {{- range $folder, $_ := $values.secrets }}
    - { name: outrigger-{{ $folder }}, mountPath: /run/secrets/outrigger/{{ $folder }}, readOnly: true }
    {{- end }}
    {{- if $values.accessKeysSecret }}
    - { name: outrigger-access, mountPath: /run/secrets/outrigger/access, readOnly: true }
    {{- end }}
    {{- with include "outrigger-sidecar.volumeMounts" . }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* Items of the pod's `volumes`. Only the sidecar mounts the Secrets, so that their mode keeps nobody else out. */}}
{{- define "outrigger-sidecar.volumes" -}}
{{- $values := .Values.outrigger -}}
- name: outrigger-config
  configMap: { name: {{ include "outrigger-sidecar.name" . }} }
{{- range $folder, $secret := $values.secrets }}
- name: outrigger-{{ $folder }}
  secret: { secretName: {{ $secret }}, defaultMode: 0444 }
{{- end }}
{{- with $values.accessKeysSecret }}
- name: outrigger-access
  secret: { secretName: {{ . }}, defaultMode: 0444 }
{{- end }}
{{- if eq $values.mode "socket" }}
- name: outrigger-socket
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
{{- end }}
{{- end }}

{{/* Items of the `env` of the service's container. */}}
{{- define "outrigger-sidecar.env" -}}
- name: OUTRIGGER_ADDR
  value: {{ include "outrigger-sidecar.address" . }}
{{- end }}

{{/* Items of the `volumeMounts` of the service's container; none on loopback. */}}
{{- define "outrigger-sidecar.volumeMounts" -}}
{{- if eq .Values.outrigger.mode "socket" -}}
- { name: outrigger-socket, mountPath: /run/outrigger }
{{- end }}
{{- end }}

{{/* Labels of the pod, by which the PodMonitor finds it. */}}
{{- define "outrigger-sidecar.podLabels" -}}
outrigger: sidecar
{{- end }}

{{/* Security context of the pod, for Pod Security "restricted". */}}
{{- define "outrigger-sidecar.podSecurityContext" -}}
runAsNonRoot: true
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/*
Seconds for the pod's terminationGracePeriodSeconds: those that the service needs, its pre-stop delay included, and then
the sidecar's: its drain, and three times 5 s to close what it has open.
    terminationGracePeriodSeconds: {{ include "outrigger-sidecar.gracePeriod" (list . 35) }}
*/}}
{{- define "outrigger-sidecar.gracePeriod" -}}
{{- $values := (first .).Values.outrigger -}}
{{ add (last .) $values.drainSeconds 15 }}
{{- end }}

{{/* Items of the `ingress` of a NetworkPolicy: Prometheus reaches the admin port. Its argument names its namespace. */}}
{{- define "outrigger-sidecar.ingress" -}}
- from:
    - namespaceSelector:
        matchLabels: { kubernetes.io/metadata.name: {{ . }} }
  ports:
    - { protocol: TCP, port: 6191 }
{{- end }}

{{/* The configuration file, as a ConfigMap, and the PodMonitor: a template of the service's chart. */}}
{{- define "outrigger-sidecar.resources" -}}
{{- $values := .Values.outrigger -}}
{{- $config := dict "listen" (include "outrigger-sidecar.address" .) "drain_timeout" (printf "%vs" $values.drainSeconds) -}}
{{- if eq $values.mode "socket" }}
{{- $_ := set $config "unix_socket_mode" "0666" }}
{{- end }}
{{- if $values.accessKeysSecret }}
{{- $_ := set $config "access_keys_file" "/run/secrets/outrigger/access/keys.yaml" }}
{{- end }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "outrigger-sidecar.name" . }}
data:
  outrigger.yaml: |
    {{- mustMerge $config $values.config | toYaml | nindent 4 }}
{{- if $values.podMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: {{ include "outrigger-sidecar.name" . }}
  {{- with $values.podMonitor.labels }}
  labels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  selector:
    matchLabels:
      app.kubernetes.io/instance: {{ .Release.Name }}
      {{- include "outrigger-sidecar.podLabels" . | nindent 6 }}
  podMetricsEndpoints:
    - port: outrigger-admin
      path: /metrics
      interval: {{ $values.podMonitor.interval }}
{{- end }}
{{- end }}
