package config

import "time"

// perMinute bounds every rate setting; 0 switches the limit off.
const perMinute = 10_000_000

func limitSettings() []Setting {
	return []Setting{
		{
			Env: "HEARTH_MAX_BODY_BYTES", Key: "limits.maxBodyBytes", Default: "1MiB",
			Doc:   "Largest JSON body of areas A, B and C. The depth of JSON is always limited to 64.",
			value: at(func(c *Config) *int64 { return &c.Limits.MaxBodyBytes }, size(1<<10, 1<<30)),
		},
		{
			Env: "HEARTH_ORACLE_MAX_BODY_BYTES", Key: "limits.oracleMaxBodyBytes", Default: "100KiB",
			Doc:   "Largest JSON body of area D.",
			value: at(func(c *Config) *int64 { return &c.Limits.OracleMaxBodyBytes }, size(1<<10, 1<<30)),
		},
		{
			Env: "HEARTH_MAX_HEADER_BYTES", Key: "limits.maxHeaderBytes", Default: "64KiB",
			Doc:   "Largest request head. UCAN delegations travel in headers.",
			value: at(func(c *Config) *int64 { return &c.Limits.MaxHeaderBytes }, size(4<<10, 1<<20)),
		},
		{
			Env: "HEARTH_HEADER_TIMEOUT", Key: "limits.headerTimeout", Default: "5s",
			Doc:   "How long a client may take to send its request head.",
			value: at(func(c *Config) *time.Duration { return &c.Limits.HeaderTimeout }, duration(100*time.Millisecond, 5*time.Minute, false)),
		},
		{
			Env: "HEARTH_IDLE_TIMEOUT", Key: "limits.idleTimeout", Default: "2m",
			Doc:   "How long a kept connection may be silent between requests.",
			value: at(func(c *Config) *time.Duration { return &c.Limits.IdleTimeout }, duration(time.Second, time.Hour, false)),
		},
		{
			Env: "HEARTH_WRITE_TIMEOUT", Key: "limits.writeTimeout", Default: "30s",
			Doc:   "How long a client may take to accept one write of an answer, on top of what its bytes take at HEARTH_BODY_MIN_RATE. An event of a stream has 10s.",
			value: at(func(c *Config) *time.Duration { return &c.Limits.WriteTimeout }, duration(time.Second, time.Hour, false)),
		},
		{
			Env: "HEARTH_BODY_MIN_RATE", Key: "limits.bodyMinRate", Default: "1KiB",
			Doc:   "Bytes a second a request body must arrive with, after a grace of 10s, and an answer must leave with.",
			value: at(func(c *Config) *int64 { return &c.Limits.BodyMinRate }, size(1, 1<<30)),
		},
		{
			Env: "HEARTH_MAX_CONNECTIONS", Key: "limits.maxConnections", Default: "10000",
			Doc:   "Open connections of all clients together.",
			value: at(func(c *Config) *int { return &c.Limits.MaxConnections }, integer(1, 10_000_000)),
		},
		{
			Env: "HEARTH_MAX_CONNECTIONS_PER_ADDRESS", Key: "limits.maxConnectionsPerAddress", Default: "512",
			Doc:   "Open connections of one address. Loopback, trusted proxies and USSD gateways are exempt.",
			value: at(func(c *Config) *int { return &c.Limits.MaxConnectionsPerAddress }, integer(1, 10_000_000)),
		},
		{
			Env: "HEARTH_MAX_IN_FLIGHT", Key: "limits.maxInFlight", Default: "1024",
			Doc:   "Requests worked on at one time; more are answered 503 with Retry-After. Streams do not count.",
			value: at(func(c *Config) *int { return &c.Limits.MaxInFlight }, integer(1, 10_000_000)),
		},
		{
			Env: "HEARTH_RATE_LIMIT", Key: "limits.rateLimit", Default: "6000",
			Doc:   "Requests a minute and API key on areas A and B; 0 is no limit.",
			value: at(func(c *Config) *int { return &c.Limits.RateLimit }, integer(0, perMinute)),
		},
		{
			Env: "HEARTH_ADDRESS_RATE_LIMIT", Key: "limits.addressRateLimit", Default: "12000",
			Doc:   "Requests a minute and address on areas A and B; 0 is no limit.",
			value: at(func(c *Config) *int { return &c.Limits.AddressRateLimit }, integer(0, perMinute)),
		},
	}
}

func eventSettings() []Setting {
	const century = 36500 * 24 * time.Hour
	return []Setting{
		{
			Env: "HEARTH_EVENT_RETENTION", Key: "events.retention", Default: "0",
			Doc:   "How long events, and with them the audit view, are kept; 0 is for ever.",
			value: at(func(c *Config) *time.Duration { return &c.Events.Retention }, duration(time.Hour, century, true)),
		},
		{
			Env: "HEARTH_IDEMPOTENCY_RETENTION", Key: "events.idempotencyRetention", Default: "24h",
			Doc:   "How long the answer to an Idempotency-Key is kept.",
			value: at(func(c *Config) *time.Duration { return &c.Events.IdempotencyRetention }, duration(time.Minute, 366*24*time.Hour, false)),
		},
		{
			Env: "HEARTH_JOB_RETENTION", Key: "events.jobRetention", Default: "720h",
			Doc:   "How long finished jobs are kept; 0 is for ever.",
			value: at(func(c *Config) *time.Duration { return &c.Events.JobRetention }, duration(time.Hour, century, true)),
		},
		{
			Env: "HEARTH_DELIVERY_RETENTION", Key: "events.deliveryRetention", Default: "720h",
			Doc:   "How long finished webhook deliveries are kept; 0 is for ever.",
			value: at(func(c *Config) *time.Duration { return &c.Events.DeliveryRetention }, duration(time.Hour, century, true)),
		},
		{
			Env: "HEARTH_WEBHOOK_TIMEOUT", Key: "events.webhookTimeout", Default: "10s",
			Doc:   "How long one webhook delivery may take.",
			value: at(func(c *Config) *time.Duration { return &c.Events.WebhookTimeout }, duration(time.Second, 5*time.Minute, false)),
		},
		{
			Env: "HEARTH_WEBHOOK_MAX_ATTEMPTS", Key: "events.webhookMaxAttempts", Default: "12",
			Doc:   "Tries before a delivery becomes a dead letter.",
			value: at(func(c *Config) *int { return &c.Events.WebhookMaxAttempts }, integer(1, 100)),
		},
		{
			Env: "HEARTH_OUTBOUND_ALLOW", Key: "events.outboundAllow", Default: "",
			Doc:   "Private networks, addresses and host names that webhooks and models may reach, on any port or the one given; public ones need no entry.",
			value: at(func(c *Config) *[]string { return &c.Events.OutboundAllow }, list(outboundEntry())),
		},
	}
}

func observeSettings() []Setting {
	return []Setting{
		{
			Env: "LOG_LEVEL", Key: "observe.logLevel", Default: "info",
			Doc:   "Least level that is logged.",
			value: at(level, logLevel()),
		},
		{
			Env: "LOG_FORMAT", Key: "observe.logFormat", Default: "auto",
			Doc:   "Form of the log; auto is text on a terminal and JSON elsewhere.",
			value: at(func(c *Config) *string { return &c.Observe.LogFormat }, oneOf("auto", "json", "text")),
		},
		{
			Env: "METRICS_ENABLED", Key: "observe.metricsEnabled", Default: "true",
			Doc:   "Serve /metrics to operators.",
			value: at(func(c *Config) *bool { return &c.Observe.MetricsEnabled }, boolean()),
		},
		{
			Env: "OTEL_EXPORTER_OTLP_ENDPOINT", Key: "observe.otlpEndpoint", Default: "",
			Doc:   "OpenTelemetry collector that takes OTLP over HTTP; /v1/traces is added. Nothing is no tracing.",
			value: at(func(c *Config) *string { return &c.Observe.OTLPEndpoint }, httpURL()),
		},
		{
			Env: "OTEL_EXPORTER_OTLP_HEADERS", Key: "observe.otlpHeaders", Default: "", Secret: true,
			Doc:   "Headers for the collector: name=value pairs separated by commas.",
			value: at(func(c *Config) *Secret { return &c.Observe.OTLPHeaders }, headerPairs()),
		},
		{
			Env: "OTEL_SERVICE_NAME", Key: "observe.serviceName", Default: "hearth",
			Doc:   "Name of this service in traces.",
			value: at(func(c *Config) *string { return &c.Observe.ServiceName }, text(128)),
		},
		{
			Env: "OTEL_TRACES_SAMPLER_ARG", Key: "observe.traceRatio", Default: "1",
			Doc:   "Share of new traces that are recorded; a caller's own decision is followed.",
			value: at(func(c *Config) *float64 { return &c.Observe.TraceRatio }, ratio()),
		},
	}
}
