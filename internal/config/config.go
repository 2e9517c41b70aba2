// Package config turns defaults, one file, the environment and flags into one
// typed Config, in that order: the later source wins. Every key stands in one
// table (settings.go and its neighbours) from which the flags, the help text,
// the printed configuration and docs/configuration.md are made.
//
// Load is a function of its input: it reads no environment variable and no
// flag by itself. It never stops at the first mistake; the error it returns
// lists all of them. Only the app package sees the whole Config, every other
// package is given the few values it needs.
package config

import (
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config is every setting of one process. Make one with Load or Default, do
// not change it afterwards.
type Config struct {
	Server  Server
	TLS     TLS
	Data    Data
	Backup  Backup
	Limits  Limits
	Auth    Auth
	Events  Events
	USSD    USSD
	Oracle  Oracle
	Model   Model
	Observe Observe

	file    string            // the configuration file that was read, "" without one
	sources map[string]string // environment name of a setting → where its value came from
	notes   []string          // warnings found while loading
	plugins plugins
}

// Server says where and how the process listens.
type Server struct {
	Environment     string // "production" refuses generated secrets
	Host            string // "" is all addresses
	Port            int    // 0 lets the system choose
	PublicURL       string // how clients reach us; "" derives it from the listener
	APIAddr         string // own listener of areas A and B; "" is the merged one
	USSDAddr        string // own listener of area C
	OracleAddr      string // own listener of area D
	AdminAddr       string // own listener of the operator routes
	Areas           []string
	StrictRefs      bool // a reference to a DID we do not hold is an error
	TrustProxy      bool
	TrustedProxies  []string // networks; empty: loopback and private peers
	CORSOrigin      string   // exact origins separated by commas, "*", or "" for none
	ShutdownTimeout time.Duration
}

// TLS holds the certificate files or the ACME account; all empty is plain HTTP.
type TLS struct {
	CertFile      string
	KeyFile       string
	ACMEDomains   []string
	ACMEEmail     string
	ACMEDirectory string // "" is the default authority of the ACME client
	ACMEHTTPAddr  string // listener for http-01 challenges; "" uses tls-alpn-01 only
}

// Data says where things are stored and how instances find each other.
type Data struct {
	Dir               string
	DatabaseURL       Secret // PostgreSQL; empty is the embedded store
	SQLiteSynchronous string // full or normal
}

// Backup is the schedule of automatic backups.
type Backup struct {
	Dir   string        // "" is backups in the data folder; see Config.BackupDir
	Every time.Duration // 0 is off
	Keep  int           // newest backups that are kept
}

// Limits bound what one client, and all of them together, can take.
type Limits struct {
	MaxBodyBytes             int64
	OracleMaxBodyBytes       int64
	MaxHeaderBytes           int64
	HeaderTimeout            time.Duration
	IdleTimeout              time.Duration
	WriteTimeout             time.Duration
	BodyMinRate              int64 // bytes a second a body must arrive with
	MaxConnections           int
	MaxConnectionsPerAddress int
	MaxInFlight              int
	RateLimit                int // requests a minute and key, areas A and B; 0 is off
	AddressRateLimit         int // requests a minute and address; 0 is off
}

// Auth holds what the key store starts with.
type Auth struct {
	OwnerKey  Secret // empty: one is made and printed on the first start
	ServerKey Secret // empty: one is made in the data folder
}

// Events covers events, jobs, webhooks and the outbound guard.
type Events struct {
	Retention            time.Duration // 0 keeps events for ever
	IdempotencyRetention time.Duration
	JobRetention         time.Duration
	DeliveryRetention    time.Duration
	WebhookTimeout       time.Duration
	WebhookMaxAttempts   int
	OutboundAllow        []string // networks, addresses and host names, each with or without a port
}

// USSD is area C.
type USSD struct {
	PINKey          Secret // as written; empty: one is derived from the server's key
	OldPINKey       Secret // the one before it, during a change of keys
	LegacyPINKey    Secret // of PINs taken over from elsewhere
	GatewayNetworks []netip.Prefix
	GatewaySecret   Secret
	GatewayOnly     bool
	SessionTTL      time.Duration
	RateLimit       int    // requests a minute and address; 0 is off
	TextMode        string // auto, accumulated or latest
	ServiceCodes    []string
	Menu            string // name of a shipped pack, or a file
	GatewaysFile    string // further gateways; "" is none
	SMS             SMS
}

// SMS says how short messages leave.
type SMS struct {
	Provider      string // off, webhook or africastalking
	WebhookURL    Secret // its path is a key at many services
	WebhookSecret Secret
	ATUsername    string
	ATKey         Secret
	ATSender      string
	ATURL         string
}

// Oracle is area D without its model.
type Oracle struct {
	DID                  string // "" uses the oracle twin made on the first start
	Name                 string
	Mnemonic             Secret
	BlocksyncURL         string // outside did:ixo resolver; "" is off
	UCANAuthMaxTTL       time.Duration
	UCANDelegationMaxTTL time.Duration // 0 is no limit
	ThrottleLimit        int           // requests a caller may send within ThrottleTTL; 0 is off
	ThrottleTTL          time.Duration
	RunsPerCaller        int
	RunTimeout           time.Duration
	Prompt               string
}

// Model is the language model. BaseURL and APIKey are filled from the
// provider's own key when they were not given; both empty is the built-in
// offline model.
type Model struct {
	BaseURL       string
	APIKey        Secret
	Default       string
	Offered       []string
	Fallbacks     []string
	Provider      string // auto, openrouter, nebius or openai
	OpenRouterKey Secret
	NebiusKey     Secret
	OpenAIKey     Secret
}

// Observe is logs, metrics and traces.
type Observe struct {
	LogLevel       slog.Level
	LogFormat      string // auto, json or text
	MetricsEnabled bool
	OTLPEndpoint   string // "" is no tracing
	OTLPHeaders    Secret // name=value pairs, for the collector
	ServiceName    string
	TraceRatio     float64 // share of new traces that are recorded
}

// Default is the configuration of a start with no file, environment or flags.
func Default() *Config {
	c := &Config{sources: map[string]string{}}
	for _, s := range Settings() {
		// A test holds every default to its own rules.
		_ = s.value.set(c, s.Default)
		c.sources[s.Env] = sourceDefault
	}
	return c
}

// HasArea tells whether area name ("a" to "d") runs.
func (c *Config) HasArea(name string) bool { return slices.Contains(c.Server.Areas, name) }

// Production tells whether the environment is production.
func (c *Config) Production() bool { return c.Server.Environment == production }

// Postgres tells whether the store is PostgreSQL and not the embedded one.
func (c *Config) Postgres() bool { return c.Data.DatabaseURL != "" }

// Addr is the address of the merged listener.
func (c *Config) Addr() string {
	return net.JoinHostPort(c.Server.Host, strconv.Itoa(c.Server.Port))
}

// AllApart tells whether every area of this process has a listener of its
// own. Nobody is left on the merged one then, and it is not opened.
func (c *Config) AllApart() bool {
	s := c.Server
	return s.APIAddr != "" && (s.USSDAddr != "" || !c.HasArea("c")) && (s.OracleAddr != "" || !c.HasArea("d"))
}

// ProbeAddr is the address of a listener that this configuration opens, for
// those who ask from the same machine whether the server is ready. All of
// them answer that; one whose port the system chooses cannot be found, so it
// comes last.
func (c *Config) ProbeAddr() string {
	addrs := []string{c.Addr()}
	if c.AllApart() {
		addrs = []string{c.Server.APIAddr, c.Server.USSDAddr, c.Server.OracleAddr}
	}
	for _, addr := range append(addrs, c.Server.AdminAddr) {
		if addr != "" && !strings.HasSuffix(addr, ":0") {
			return addr
		}
	}
	return addrs[0]
}

// BackupDir is the folder of the backups: the one that was set, or "backups"
// in the data folder.
func (c *Config) BackupDir() string {
	if c.Backup.Dir != "" {
		return c.Backup.Dir
	}
	return filepath.Join(c.Data.Dir, "backups")
}

// UsesTLS tells whether the listeners speak TLS.
func (c *Config) UsesTLS() bool { return c.TLS.CertFile != "" || len(c.TLS.ACMEDomains) > 0 }

// File is the path of the configuration file that was read, "" without one.
func (c *Config) File() string { return c.file }

// Source says where the value of the setting with this environment name came
// from: "default", "file … line 3", "environment NODE_ENV" or "flag --port".
func (c *Config) Source(env string) string { return c.sources[env] }

// given tells whether somebody chose the value of this setting.
func (c *Config) given(env string) bool { return c.sources[env] != sourceDefault }
