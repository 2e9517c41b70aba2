package config

import (
	"slices"
	"strings"
	"time"
)

// Setting describes one key. The table of all of them is what Settings
// returns.
type Setting struct {
	Env     string   // environment name: PORT, HEARTH_DATA_DIR
	Aliases []string // other environment names that are understood
	Key     string   // place in the file: server.port; the part before the dot is the group
	Default string   // as one would write it
	Doc     string   // one sentence, and what 0 or nothing means
	Secret  bool     // masked wherever it is shown; may be given as <Env>_FILE

	value value
}

// Flag is the name of the setting's flag without dashes: the environment name
// without HEARTH_, in lower case, with dashes.
func (s Setting) Flag() string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.Env, "HEARTH_")), "_", "-")
}

// Group is the first part of the file key.
func (s Setting) Group() string {
	group, _, _ := strings.Cut(s.Key, ".")
	return group
}

// Kind is the sort of value, as the generated table names it.
func (s Setting) Kind() string { return s.value.kind }

// Want says which values are accepted; it completes "want …".
func (s Setting) Want() string { return s.value.want }

// Choices lists the values of a setting that has only a few, else nothing.
func (s Setting) Choices() []string { return slices.Clone(s.value.words) }

// Group is a heading of the generated table and the help text.
type Group struct {
	Key   string // in the file
	Title string
}

// Groups lists the groups in the order they are shown.
func Groups() []Group {
	return []Group{
		{"server", "Server and listeners"},
		{"tls", "TLS"},
		{"data", "Storage"},
		{"backup", "Backups"},
		{"limits", "Limits"},
		{"auth", "Identity"},
		{"events", "Events, jobs, webhooks"},
		{"ussd", "USSD (area C)"},
		{"sms", "Short messages"},
		{"oracle", "Oracle (area D)"},
		{"model", "Language model"},
		{"observe", "Logs, metrics, traces"},
	}
}

// Settings is the table of all settings in the order they are shown.
func Settings() []Setting {
	return slices.Concat(
		serverSettings(), tlsSettings(), dataSettings(), backupSettings(), limitSettings(), authSettings(), eventSettings(),
		ussdSettings(), smsSettings(), oracleSettings(), modelSettings(), observeSettings(),
	)
}

func serverSettings() []Setting {
	return []Setting{
		{
			Env: "PORT", Key: "server.port", Default: "3000",
			Doc:   "Port of the merged listener; 0 lets the system choose one.",
			value: at(func(c *Config) *int { return &c.Server.Port }, integer(0, 65535)),
		},
		{
			Env: "HOST", Key: "server.host", Default: "",
			Doc:   "Address of the merged listener; nothing is all addresses.",
			value: at(func(c *Config) *string { return &c.Server.Host }, host()),
		},
		{
			Env: "HEARTH_ENV", Aliases: []string{"NODE_ENV"}, Key: "server.environment", Default: "development",
			Doc:   "The `environment` field of the health routes; `production` refuses generated secrets.",
			value: at(func(c *Config) *string { return &c.Server.Environment }, environment()),
		},
		{
			Env: "HEARTH_AREAS", Key: "server.areas", Default: "a,b,c,d",
			Doc:   "The areas this process serves: a entities, b surveys, c USSD, d oracle.",
			value: at(func(c *Config) *[]string { return &c.Server.Areas }, list(area())),
		},
		{
			Env: "HEARTH_PUBLIC_URL", Key: "server.publicUrl", Default: "",
			Doc:   "The base address clients use, for the links and DID documents of the areas; nothing derives it from the listener.",
			value: at(func(c *Config) *string { return &c.Server.PublicURL }, httpURL()),
		},
		{
			Env: "HEARTH_API_ADDR", Key: "server.apiAddr", Default: "",
			Doc:   "Own listener for areas A and B; nothing keeps them on the merged one.",
			value: at(func(c *Config) *string { return &c.Server.APIAddr }, address()),
		},
		{
			Env: "HEARTH_USSD_ADDR", Key: "server.ussdAddr", Default: "",
			Doc:   "Own listener for area C.",
			value: at(func(c *Config) *string { return &c.Server.USSDAddr }, address()),
		},
		{
			Env: "HEARTH_ORACLE_ADDR", Key: "server.oracleAddr", Default: "",
			Doc:   "Own listener for area D.",
			value: at(func(c *Config) *string { return &c.Server.OracleAddr }, address()),
		},
		{
			Env: "HEARTH_ADMIN_ADDR", Key: "server.adminAddr", Default: "",
			Doc:   "Own listener for the operator routes, which then leave the others.",
			value: at(func(c *Config) *string { return &c.Server.AdminAddr }, address()),
		},
		{
			Env: "HEARTH_STRICT_REFS", Key: "server.strictRefs", Default: "false",
			Doc:   "Areas A and B refuse references to DIDs that are not stored here instead of marking them external.",
			value: at(func(c *Config) *bool { return &c.Server.StrictRefs }, boolean()),
		},
		{
			Env: "TRUST_PROXY_ENABLED", Key: "server.trustProxy", Default: "false",
			Doc:   "Take the client address from X-Forwarded-For: the rightmost address that is not a trusted proxy. Alone it trusts loopback and private peers.",
			value: at(func(c *Config) *bool { return &c.Server.TrustProxy }, boolean()),
		},
		{
			Env: "HEARTH_TRUSTED_PROXIES", Key: "server.trustedProxies", Default: "",
			Doc:   "The only proxies that are trusted when TRUST_PROXY_ENABLED is true.",
			value: at(func(c *Config) *[]string { return &c.Server.TrustedProxies }, list(networkText())),
		},
		{
			Env: "CORS_ORIGIN", Key: "server.corsOrigin", Default: "*",
			Doc:   "Origins whose pages may call areas A, B and D. Named origins may send credentials, `*` may not; nothing is none.",
			value: at(func(c *Config) *string { return &c.Server.CORSOrigin }, origins()),
		},
		{
			Env: "HEARTH_SHUTDOWN_TIMEOUT", Key: "server.shutdownTimeout", Default: "15s",
			Doc:   "How long a stop waits for requests and streams to end.",
			value: at(func(c *Config) *time.Duration { return &c.Server.ShutdownTimeout }, duration(time.Second, 10*time.Minute, false)),
		},
	}
}

func tlsSettings() []Setting {
	return []Setting{
		{
			Env: "HEARTH_TLS_CERT", Key: "tls.cert", Default: "",
			Doc:   "File with the certificate chain (PEM); turns TLS on.",
			value: at(func(c *Config) *string { return &c.TLS.CertFile }, text(4096)),
		},
		{
			Env: "HEARTH_TLS_KEY", Key: "tls.key", Default: "",
			Doc:   "File with the private key of the certificate (PEM).",
			value: at(func(c *Config) *string { return &c.TLS.KeyFile }, text(4096)),
		},
		{
			Env: "HEARTH_ACME_DOMAINS", Key: "tls.acmeDomains", Default: "",
			Doc:   "Names to get certificates for by ACME; turns TLS on and accepts the authority's terms.",
			value: at(func(c *Config) *[]string { return &c.TLS.ACMEDomains }, list(domain())),
		},
		{
			Env: "HEARTH_ACME_EMAIL", Key: "tls.acmeEmail", Default: "",
			Doc:   "Contact the ACME authority may write to.",
			value: at(func(c *Config) *string { return &c.TLS.ACMEEmail }, text(254)),
		},
		{
			Env: "HEARTH_ACME_DIRECTORY", Key: "tls.acmeDirectory", Default: "",
			Doc:   "Directory address of the ACME authority; nothing is Let's Encrypt.",
			value: at(func(c *Config) *string { return &c.TLS.ACMEDirectory }, httpURL()),
		},
		{
			Env: "HEARTH_ACME_HTTP_ADDR", Key: "tls.acmeHttpAddr", Default: "",
			Doc:   "Listener for http-01 challenges, usually :80; nothing uses tls-alpn-01, which needs port 443.",
			value: at(func(c *Config) *string { return &c.TLS.ACMEHTTPAddr }, address()),
		},
	}
}

func dataSettings() []Setting {
	return []Setting{
		{
			Env: "HEARTH_DATA_DIR", Key: "data.dir", Default: "./hearth-data",
			Doc:   "Data folder: database, keys, media.",
			value: at(func(c *Config) *string { return &c.Data.Dir }, text(4096)),
		},
		{
			Env: "DATABASE_URL", Key: "data.databaseUrl", Default: "", Secret: true,
			Doc:   "PostgreSQL instead of the embedded store.",
			value: at(func(c *Config) *Secret { return &c.Data.DatabaseURL }, postgresURL()),
		},
		{
			Env: "HEARTH_SQLITE_SYNCHRONOUS", Key: "data.sqliteSynchronous", Default: "full",
			Doc:   "When the embedded store reaches the disk: full is before each answer. normal is insecure: a power cut may lose writes that were answered with success.",
			value: at(func(c *Config) *string { return &c.Data.SQLiteSynchronous }, oneOf("full", "normal")),
		},
		{
			Env: "NATS_URL", Key: "data.natsUrl", Default: "", Secret: true,
			Doc:   "NATS servers for live events between instances. Not supported yet: giving it is an error.",
			value: later(kindURL, "instances on one PostgreSQL hear each other through it"),
		},
	}
}

func backupSettings() []Setting {
	return []Setting{
		{
			Env: "HEARTH_BACKUP_DIR", Key: "backup.dir", Default: "",
			Doc:   "Folder of the backups; nothing is `backups` in the data folder.",
			value: at(func(c *Config) *string { return &c.Backup.Dir }, text(4096)),
		},
		{
			Env: "HEARTH_BACKUP_EVERY", Key: "backup.every", Default: "0",
			Doc:   "Time between automatic backups; 0 is none. With PostgreSQL the server needs pg_dump.",
			value: at(func(c *Config) *time.Duration { return &c.Backup.Every }, duration(time.Minute, 366*24*time.Hour, true)),
		},
		{
			Env: "HEARTH_BACKUP_KEEP", Key: "backup.keep", Default: "7",
			Doc:   "How many automatic backups are kept; older ones are removed.",
			value: at(func(c *Config) *int { return &c.Backup.Keep }, integer(1, 10000)),
		},
	}
}

func authSettings() []Setting {
	return []Setting{
		{
			Env: "HEARTH_OWNER_KEY", Key: "auth.ownerKey", Default: "", Secret: true,
			Doc:   "The first owner API key; nothing makes one on the first start and prints it once.",
			value: at(func(c *Config) *Secret { return &c.Auth.OwnerKey }, secret(32)),
		},
		{
			Env: "HEARTH_SERVER_KEY", Key: "auth.serverKey", Default: "", Secret: true,
			Doc:   "Seals stored secrets and signs cursors; instances on one database share it. Nothing makes one in the data folder, which `production` refuses.",
			value: at(func(c *Config) *Secret { return &c.Auth.ServerKey }, secret(32)),
		},
	}
}
