{{- define "banditree.name" -}}
{{- if contains "banditree" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-banditree" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "banditree.labels" -}}
app.kubernetes.io/name: banditree
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* By which pods of one part are found: (dict "root" . "part" "service"). */}}
{{- define "banditree.selector" -}}
app.kubernetes.io/name: banditree
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "banditree.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* "true" where the database is a file on a volume of the service. */}}
{{- define "banditree.file" -}}
{{- if not (or .Values.database.secretName .Values.postgresql.enabled) }}true{{ end }}
{{- end }}

{{/* What the service, its backups and its first admin connect to. */}}
{{- define "banditree.database" -}}
{{- if .Values.database.secretName }}
- name: BANDITREE_DATABASE
  valueFrom: {secretKeyRef: {name: {{ .Values.database.secretName }}, key: url}}
{{- else if .Values.postgresql.enabled }}
{{- $name := include "banditree.name" . }}
- name: PASSWORD
  valueFrom: {secretKeyRef: {name: {{ required "postgresql.secretName is needed: a secret with a key `password`" .Values.postgresql.secretName }}, key: password}}
- name: BANDITREE_DATABASE
  value: "postgresql://banditree:$(PASSWORD)@/banditree?host={{ $name }}-database:5432&host={{ $name }}-standby:5432&target_session_attrs=read-write"
{{- else }}
- {name: BANDITREE_DATABASE, value: /var/lib/banditree/banditree.db}
{{- end }}
- {name: NUMBA_CACHE_DIR, value: /tmp/numba}
{{- end }}

{{- define "banditree.data" -}}
- name: data
{{- if include "banditree.file" . }}
  persistentVolumeClaim: {claimName: {{ include "banditree.name" . }}-data}
{{- else }}
  emptyDir: {}
{{- end }}
{{- end }}

{{- define "banditree.podSecurity" -}}
{runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
{{- end }}

{{- define "banditree.security" -}}
{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end }}

{{/* Where pods go; a file on a volume is read on the machine of the service. */}}
{{- define "banditree.placing" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A pod that writes a backup, verifies it and removes old ones: (dict "root" . "image" "..." "restart" "..."). */}}
{{- define "banditree.backupPod" -}}
{{- $name := include "banditree.name" .root -}}
metadata:
  labels: {{- include "banditree.selector" (dict "root" .root "part" "backup") | nindent 4 }}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext: {{ include "banditree.podSecurity" .root }}
  {{- include "banditree.placing" .root | nindent 2 }}
  {{- if include "banditree.file" .root }}
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "banditree.selector" (dict "root" .root "part" "service") | nindent 14 }}
  {{- end }}
  containers:
    - name: backup
      image: {{ .image }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      securityContext: {{ include "banditree.security" .root }}
      command: ["/bin/sh", "-ec"]
      args:
        - |
          file="/backups/$(date -u +%Y-%m-%dT%H-%M-%S).backup"
          banditree db backup -o "$file"
          banditree db restore "$file"
          find /backups -maxdepth 1 -name '*.backup' -mtime +{{ .root.Values.backup.days }} -delete
      env: {{- include "banditree.database" .root | nindent 8 }}
      volumeMounts:
        - {name: backups, mountPath: /backups}
        - {name: data, mountPath: /var/lib/banditree}
        - {name: scratch, mountPath: /tmp}
  volumes:
    - name: backups
      persistentVolumeClaim: {claimName: {{ $name }}-backups}
    {{- include "banditree.data" .root | nindent 4 }}
    - {name: scratch, emptyDir: {}}
{{- end }}
