{{- define "hearth.labels" -}}
app.kubernetes.io/name: hearth
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The address of the database. User and password are PGUSER and PGPASSWORD. */ -}}
{{- define "hearth.database" -}}
{{- $p := .Values.postgres -}}
postgres://{{ required "postgres.host is missing: the host of the primary" $p.host }}:{{ $p.port }}/{{ $p.database }}?sslmode={{ $p.sslmode }}&pool_max_conns={{ $p.poolSize }}
{{- end }}

{{- /* Refuses more nodes than PostgreSQL has connections for. */ -}}
{{- define "hearth.budget" -}}
{{- $p := .Values.postgres -}}
{{- $nodes := add .Values.replicas .Values.rollingUpdate.maxSurge -}}
{{- $each := add $p.poolSize 10 -}}
{{- $need := mul $nodes $each -}}
{{- $have := sub $p.maxConnections $p.reservedConnections -}}
{{- if gt $need $have -}}
{{- fail (printf "%d nodes (maxSurge among them) with %d connections each need %d, and postgres.maxConnections leaves %d: fewer replicas, a smaller postgres.poolSize, or a larger max_connections" $nodes $each $need $have) -}}
{{- end -}}
{{- end }}
