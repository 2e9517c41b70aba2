// Package config turns defaults, one file, the environment and flags into one
// typed Config, in that order: the later source wins. Every key is in one table
// (settings.go and its neighbours) from which the flags, the help text, the
// printed configuration and docs/configuration.md are made.
//
// Load is a function of its input: it does not read the environment or the
// flags itself. It never stops at the first mistake; the error it returns lists
// all of them. Only the app package sees the whole Config, every other package
// is given the few values it needs.
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

// Config is every setting of one process. Make one with Load or Default, and do
// not change it afterwards.
type Config struct {
	Server  Server  `file:"server" title:"Server and listeners"`
	TLS     TLS     `file:"tls" title:"TLS"`
	Data    Data    `file:"data" title:"Storage"`
	Backup  Backup  `file:"backup" title:"Backups"`
	Limits  Limits  `file:"limits" title:"Limits"`
	Auth    Auth    `file:"auth" title:"Identity"`
	Events  Events  `file:"events" title:"Events, jobs, webhooks"`
	VC      VC      `file:"vc" title:"Verifiable credentials"`
	Surveys Surveys `file:"surveys" title:"Surveys (area B)"`
	USSD    USSD    `file:"ussd" title:"USSD (area C)"`
	Oracle  Oracle  `file:"oracle" title:"Oracle (area D)"`
	Model   Model   `file:"model" title:"Language model"`
	Observe Observe `file:"observe" title:"Logs, metrics, traces"`

	file    string            // the configuration file that was read, "" without one
	sources map[string]string // environment name of a setting → where its value came from
	notes   []string          // warnings found while loading
	plugins plugins
}

// Server says where and how the process listens.
type Server struct {
	Port            int           `env:"PORT" file:"port" default:"3000" is:"integer 0 65535" doc:"Port of the merged listener; 0 lets the system choose one."`
	Host            string        `env:"HOST" file:"host" is:"host" doc:"Address of the merged listener; empty: all addresses."`
	Environment     string        `env:"HEARTH_ENV" alias:"NODE_ENV" file:"environment" default:"development" is:"environment" doc:"The 'environment' field of the health routes; 'production' refuses generated secrets."`
	Areas           []string      `env:"HEARTH_AREAS" file:"areas" default:"a,b,c,d" is:"areas" doc:"The areas this process serves: a entities, b surveys, c USSD, d oracle."`
	PublicURL       string        `env:"HEARTH_PUBLIC_URL" file:"publicUrl" is:"httpURL" doc:"Base address that clients use, for the links and DID documents of the areas; empty: the address of the listener."`
	APIAddr         string        `env:"HEARTH_API_ADDR" file:"apiAddr" is:"address" doc:"Separate listener for areas A and B; empty: the merged one."`
	USSDAddr        string        `env:"HEARTH_USSD_ADDR" file:"ussdAddr" is:"address" doc:"Separate listener for area C; empty: the merged one."`
	OracleAddr      string        `env:"HEARTH_ORACLE_ADDR" file:"oracleAddr" is:"address" doc:"Separate listener for area D; empty: the merged one."`
	AdminAddr       string        `env:"HEARTH_ADMIN_ADDR" file:"adminAddr" is:"address" doc:"Separate listener for the operator routes, which the other listeners then do not serve; empty: the merged one."`
	StrictRefs      bool          `env:"HEARTH_STRICT_REFS" file:"strictRefs" default:"false" is:"boolean" doc:"Areas A and B refuse references to DIDs that are not stored here, instead of marking them external."`
	TrustProxy      bool          `env:"TRUST_PROXY_ENABLED" file:"trustProxy" default:"false" is:"boolean" doc:"Take the client address from X-Forwarded-For: the rightmost address that is not a trusted proxy. Unless HEARTH_TRUSTED_PROXIES is given, loopback and private addresses are trusted."`
	TrustedProxies  []string      `env:"HEARTH_TRUSTED_PROXIES" file:"trustedProxies" is:"proxies" doc:"Networks of the proxies to trust when TRUST_PROXY_ENABLED is true; empty: loopback and private addresses."`
	CORSOrigin      string        `env:"CORS_ORIGIN" file:"corsOrigin" default:"*" is:"origins" doc:"Origins whose pages may call areas A, B and D. Named origins may send credentials, '*' may not; empty: no other origin may call."`
	Console         bool          `env:"HEARTH_CONSOLE" file:"console" default:"true" is:"boolean" doc:"Serve the web console at /console/, on listeners with area A or B."`
	ConsoleDir      string        `env:"HEARTH_CONSOLE_DIR" file:"consoleDir" is:"text 4096" doc:"For developers: serve the files of the console from this folder, as they are at each request; empty: those in the program."`
	Tiles           string        `env:"HEARTH_CONSOLE_TILES" file:"consoleTiles" is:"tiles" doc:"Address of the background pictures of the console's maps, such as https://tiles.example.org/{z}/{x}/{y}.png. Browsers ask that server, which thereby learns what people look at; empty: no other server is asked."`
	TilesCredit     string        `env:"HEARTH_CONSOLE_TILES_CREDIT" file:"consoleTilesCredit" default:"© OpenStreetMap contributors" is:"text 256" doc:"Source of the pictures of HEARTH_CONSOLE_TILES, shown under each map."`
	DrainDelay      time.Duration `env:"HEARTH_DRAIN_DELAY" file:"drainDelay" default:"0s" is:"duration 0s 5m" doc:"How long a shutdown keeps serving after /readyz has turned to 503, so that load balancers stop sending requests before the listeners close."`
	ShutdownTimeout time.Duration `env:"HEARTH_SHUTDOWN_TIMEOUT" file:"shutdownTimeout" default:"15s" is:"duration 1s 10m" doc:"How long a shutdown waits for requests and streams to end."`
}

// TLS holds the certificate files or the ACME account; all empty is plain HTTP.
type TLS struct {
	CertFile      string   `env:"HEARTH_TLS_CERT" file:"cert" is:"text 4096" doc:"File with the certificate chain (PEM); turns TLS on."`
	KeyFile       string   `env:"HEARTH_TLS_KEY" file:"key" is:"text 4096" doc:"File with the private key of the certificate (PEM)."`
	ACMEDomains   []string `env:"HEARTH_ACME_DOMAINS" file:"acmeDomains" is:"domains" doc:"Names to get certificates for by ACME; turns TLS on and accepts the authority's terms of service."`
	ACMEEmail     string   `env:"HEARTH_ACME_EMAIL" file:"acmeEmail" is:"text 254" doc:"Contact the ACME authority may write to."`
	ACMEDirectory string   `env:"HEARTH_ACME_DIRECTORY" file:"acmeDirectory" is:"httpURL" doc:"Directory address of the ACME authority; empty: Let's Encrypt."`
	ACMEHTTPAddr  string   `env:"HEARTH_ACME_HTTP_ADDR" file:"acmeHttpAddr" is:"address" doc:"Listener for http-01 challenges, usually :80; empty: tls-alpn-01 is used, which needs port 443."`
}

// Data says where things are stored and how instances find each other.
type Data struct {
	Dir               string `env:"HEARTH_DATA_DIR" file:"dir" default:"./hearth-data" is:"text 4096" doc:"Data folder: database, keys, media."`
	DatabaseURL       Secret `env:"DATABASE_URL" file:"databaseUrl" is:"postgresURL" doc:"Address of a PostgreSQL database; empty: the embedded store."`
	SQLiteSynchronous string `env:"HEARTH_SQLITE_SYNCHRONOUS" file:"sqliteSynchronous" default:"full" is:"oneOf full normal" doc:"When the embedded store writes to the disk: full is before each answer. normal is insecure: a power cut may lose writes that were answered with success."`
	ReadURL           Secret `env:"DATABASE_READ_URL" file:"databaseReadUrl" is:"postgresURL" doc:"Address of standbys of DATABASE_URL. They answer lists, exports, graphs and the audit view for callers that send Hearth-Position; empty: the primary answers everything."`
	RequireStandby    bool   `env:"HEARTH_REQUIRE_STANDBY" file:"requireStandby" default:"false" is:"boolean" doc:"With DATABASE_URL: refuse requests that write (503 STANDBY_MISSING) while no synchronous standby confirms them. The user of the database must be a member of pg_read_all_stats."`
	BusURL            Secret `env:"HEARTH_BUS_URL" file:"busUrl" is:"postgresURL" doc:"Address of the same PostgreSQL for messages between instances, when DATABASE_URL goes through a pooler: these messages need a session of their own. Empty: DATABASE_URL."`
	NATSURL           Secret `env:"NATS_URL" file:"natsUrl" is:"natsURLs" doc:"NATS servers for messages between instances on one PostgreSQL, such as tls://a:4222,tls://b:4222; empty: the database carries them. In production servers on other hosts need tls://, because messages can hold personal data."`
	NATSCredentials   string `env:"NATS_CREDENTIALS_FILE" file:"natsCredentials" is:"text 4096" doc:"File with the credentials for the NATS servers (JWT and key)."`
	NATSCA            string `env:"NATS_CA_FILE" file:"natsCa" is:"text 4096" doc:"File with the certificates (PEM) that vouch for the NATS servers; empty: those of the system."`
}

// Backup is the schedule of automatic backups.
type Backup struct {
	Dir   string        `env:"HEARTH_BACKUP_DIR" file:"dir" is:"text 4096" doc:"Folder of the backups; empty: 'backups' in the data folder."`
	Every time.Duration `env:"HEARTH_BACKUP_EVERY" file:"every" default:"0" is:"duration 1m 366d or0" doc:"Time between automatic backups; 0: none are made. With PostgreSQL the server needs pg_dump, and HEARTH_BACKUP_DIR must be a folder that all servers share."`
	Keep  int           `env:"HEARTH_BACKUP_KEEP" file:"keep" default:"7" is:"integer 1 10000" doc:"How many automatic backups are kept; older ones are removed."`
}

// Limits bound what one client, and all of them together, can take.
type Limits struct {
	MaxBodyBytes             int64         `env:"HEARTH_MAX_BODY_BYTES" file:"maxBodyBytes" default:"1MiB" is:"size 1KiB 1GiB" doc:"Largest JSON body of areas A, B and C. The depth of JSON is always limited to 64."`
	OracleMaxBodyBytes       int64         `env:"HEARTH_ORACLE_MAX_BODY_BYTES" file:"oracleMaxBodyBytes" default:"100KiB" is:"size 1KiB 1GiB" doc:"Largest JSON body of area D."`
	MaxHeaderBytes           int64         `env:"HEARTH_MAX_HEADER_BYTES" file:"maxHeaderBytes" default:"64KiB" is:"size 4KiB 1MiB" doc:"Largest request head. UCAN delegations travel in headers."`
	HeaderTimeout            time.Duration `env:"HEARTH_HEADER_TIMEOUT" file:"headerTimeout" default:"5s" is:"duration 100ms 5m" doc:"How long a client may take to send its request head."`
	IdleTimeout              time.Duration `env:"HEARTH_IDLE_TIMEOUT" file:"idleTimeout" default:"2m" is:"duration 1s 1h" doc:"How long an open connection may be silent between requests."`
	WriteTimeout             time.Duration `env:"HEARTH_WRITE_TIMEOUT" file:"writeTimeout" default:"30s" is:"duration 1s 1h" doc:"How long a client may take to accept one write of an answer, in addition to the time its bytes take at HEARTH_BODY_MIN_RATE. For an event of a stream it is 10s."`
	BodyMinRate              int64         `env:"HEARTH_BODY_MIN_RATE" file:"bodyMinRate" default:"1KiB" is:"size 1 1GiB" doc:"Bytes per second at which a request body must arrive, after a grace of 10s, and an answer must be taken."`
	MaxConnections           int           `env:"HEARTH_MAX_CONNECTIONS" file:"maxConnections" default:"10000" is:"integer 1 10000000" doc:"Open connections of all clients together."`
	MaxConnectionsPerAddress int           `env:"HEARTH_MAX_CONNECTIONS_PER_ADDRESS" file:"maxConnectionsPerAddress" default:"512" is:"integer 1 10000000" doc:"Open connections from one address. Loopback, trusted proxies and USSD gateways are exempt."`
	MaxInFlight              int           `env:"HEARTH_MAX_IN_FLIGHT" file:"maxInFlight" default:"1024" is:"integer 1 10000000" doc:"Requests handled at one time; further ones are answered 503 with Retry-After. Streams do not count."`
	RateLimit                int           `env:"HEARTH_RATE_LIMIT" file:"rateLimit" default:"6000" is:"integer 0 10000000" doc:"Requests per minute and API key on areas A and B; 0: no limit."`
	AddressRateLimit         int           `env:"HEARTH_ADDRESS_RATE_LIMIT" file:"addressRateLimit" default:"12000" is:"integer 0 10000000" doc:"Requests per minute and address on areas A and B; 0: no limit."`
}

// Auth holds the initial content of the key store.
type Auth struct {
	OwnerKey  Secret `env:"HEARTH_OWNER_KEY" file:"ownerKey" is:"secret 32" doc:"The first owner API key; empty: one is made on the first start and printed once."`
	ServerKey Secret `env:"HEARTH_SERVER_KEY" file:"serverKey" is:"secret 32" doc:"Seals stored secrets and signs cursors; instances on one database share it. Empty: one is made in the data folder, which 'production' refuses."`
}

// Events covers events, jobs, webhooks and the outbound guard.
type Events struct {
	Retention            time.Duration `env:"HEARTH_EVENT_RETENTION" file:"retention" default:"26280h" is:"duration 1h 36500d or0" doc:"How long events, and with them the audit view, are kept: three years by default; 0: for ever. On PostgreSQL they are kept until the end of their quarter as well."`
	ReadingRetention     time.Duration `env:"HEARTH_READING_RETENTION" file:"readingRetention" default:"0" is:"duration 24h 36500d or0" doc:"How long readings of devices are kept, plus two days; 0: for ever. On PostgreSQL they are kept until the end of their month as well. The figures of each day and stove stay; cooking events, gaps and stacking can no longer be derived from removed readings, and readings of that time can no longer be corrected."`
	IdempotencyRetention time.Duration `env:"HEARTH_IDEMPOTENCY_RETENTION" file:"idempotencyRetention" default:"24h" is:"duration 1m 366d" doc:"How long the answer to an Idempotency-Key is kept."`
	JobRetention         time.Duration `env:"HEARTH_JOB_RETENTION" file:"jobRetention" default:"720h" is:"duration 1h 36500d or0" doc:"How long finished jobs are kept; 0: for ever."`
	DeliveryRetention    time.Duration `env:"HEARTH_DELIVERY_RETENTION" file:"deliveryRetention" default:"720h" is:"duration 1h 36500d or0" doc:"How long finished webhook deliveries are kept; 0: for ever. On PostgreSQL they are kept until the end of their week as well."`
	WebhookTimeout       time.Duration `env:"HEARTH_WEBHOOK_TIMEOUT" file:"webhookTimeout" default:"10s" is:"duration 1s 5m" doc:"How long one webhook delivery may take."`
	WebhookMaxAttempts   int           `env:"HEARTH_WEBHOOK_MAX_ATTEMPTS" file:"webhookMaxAttempts" default:"12" is:"integer 1 100" doc:"Attempts before a delivery becomes a dead letter."`
	OutboundAllow        []string      `env:"HEARTH_OUTBOUND_ALLOW" file:"outboundAllow" is:"outbound" doc:"Private networks, addresses and host names that webhooks, models, menus and MCP servers of workspaces may reach, on any port or the one given; public ones need no entry."`
}

// VC is the settings of verifiable credentials.
type VC struct {
	DirectIssue bool `env:"HEARTH_VC_DIRECT_ISSUE" file:"directIssue" default:"false" is:"boolean" doc:"For test suites: POST /v1/vc-api/credentials/issue signs credentials that are not based on a claim, with a key that signs nothing else."`
}

// Surveys is area B.
type Surveys struct {
	Channels []string `env:"HEARTH_SURVEY_CHANNELS" file:"channels" is:"channels" doc:"Survey modes in which a system of yours interviews households and sends the responses: ussd, web, chat. The USSD line and the oracle of this server interview in ussd and chat. A survey that plans a mode in which nobody interviews is refused, and a response in a mode that is not listed here is flagged."`
}

// USSD is area C.
type USSD struct {
	PINKey          Secret         `env:"PIN_ENCRYPTION_KEY" file:"pinEncryptionKey" is:"pinKey" doc:"Key that encrypts PINs, or a passphrase it is made from. Empty: one is derived from the server's key, which 'production' refuses."`
	OldPINKey       Secret         `env:"PIN_ENCRYPTION_KEY_OLD" file:"pinEncryptionKeyOld" is:"pinKey" doc:"The key that PIN_ENCRYPTION_KEY replaces. After the start a job encrypts its PINs again with the new key; remove this setting when 'hearth ussd accounts rotate' reports that no PINs are left under it."`
	LegacyPINKey    Secret         `env:"LEGACY_PIN_ENCRYPTION_KEY" file:"legacyPinEncryptionKey" is:"secret 0" doc:"Passphrase of imported PINs, which are checked with it once and then encrypted again. Empty: PIN_ENCRYPTION_KEY."`
	GatewayNetworks []netip.Prefix `env:"USSD_GATEWAY_NETWORKS" file:"gatewayNetworks" is:"networks" doc:"Networks of the telecom gateways; they are exempt from the limit per address."`
	GatewaySecret   Secret         `env:"USSD_GATEWAY_SECRET" file:"gatewaySecret" is:"secret 16" doc:"Shared secret by which a gateway proves itself."`
	GatewayCA       string         `env:"USSD_GATEWAY_CA" file:"gatewayCa" is:"text 4096" doc:"File with the certificates (PEM) of the authority that issues the client certificates of gateways, where TLS is served here: a caller with such a certificate counts as a gateway. Never use a public authority."`
	GatewayOnly     bool           `env:"USSD_GATEWAY_ONLY" file:"gatewayOnly" default:"false" is:"boolean" doc:"Refuse every caller that is not a known gateway."`
	SessionTTL      time.Duration  `env:"USSD_SESSION_TTL" file:"sessionTtl" default:"180s" is:"duration 10s 1d" doc:"How long a handset session may be silent."`
	RateLimit       int            `env:"USSD_RATE_LIMIT" file:"rateLimit" default:"100" is:"integer 0 10000000" doc:"Requests per minute and address; 0: no limit."`
	TextMode        string         `env:"USSD_TEXT_MODE" file:"textMode" default:"accumulated" is:"textMode" doc:"What the text field of a request on /api/ussd holds: accumulated is all answers so far (1*2*3), so the same text again is the same request; latest is the newest answer alone. A gateway file declares its own."`
	ServiceCodes    []string       `env:"USSD_SERVICE_CODES" alias:"ZM_SERVICE_CODES" file:"serviceCodes" is:"serviceCodes" doc:"Codes that people dial; requests for other codes are refused. Empty: every code is accepted."`
	Menu            string         `env:"USSD_MENU" file:"menu" default:"hearth" is:"text 4096" doc:"The menus: hearth, classic, or the path of a YAML file, which is read again when it changes."`
	MenuTwins       []string       `env:"USSD_MENU_TWINS" file:"menuTwins" is:"names 64" doc:"Types of twins that menus may list, such as Stove; never their personal properties. Empty: only those of the customer who is logged in."`
	AsksPerHour     int            `env:"USSD_ASKS_PER_HOUR" file:"asksPerHour" default:"20" is:"integer 1 100000" doc:"How many questions and tools menus may ask of the oracle for one phone number in an hour."`
	GatewaysFile    string         `env:"USSD_GATEWAYS_FILE" file:"gatewaysFile" is:"text 4096" doc:"YAML file with further gateways, in addition to those that are shipped."`

	SMS SMS `file:"sms" title:"Short messages"`
}

// SMS says how short messages are sent.
type SMS struct {
	Provider      string `env:"SMS_PROVIDER" file:"provider" default:"off" is:"oneOf off webhook africastalking" doc:"How short messages are sent: not at all, to a webhook of yours, or through Africa's Talking."`
	WebhookURL    Secret `env:"SMS_WEBHOOK_URL" file:"webhookUrl" is:"hookURL" doc:"Where messages are posted with SMS_PROVIDER=webhook."`
	WebhookSecret Secret `env:"SMS_WEBHOOK_SECRET" file:"webhookSecret" is:"secret 16" doc:"Secret that signs the messages posted to SMS_WEBHOOK_URL."`
	ATUsername    string `env:"AFRICASTALKING_USERNAME" file:"africasTalkingUsername" is:"text 128" doc:"User name at Africa's Talking."`
	ATKey         Secret `env:"AFRICASTALKING_API_KEY" file:"africasTalkingApiKey" is:"secret 0" doc:"Key at Africa's Talking."`
	ATSender      string `env:"AFRICASTALKING_SENDER_ID" file:"africasTalkingSenderId" is:"text 32" doc:"Name or short code that messages come from."`
	ATURL         string `env:"AFRICASTALKING_URL" file:"africasTalkingUrl" default:"https://api.africastalking.com" is:"httpURL" doc:"Address of its API; https://api.sandbox.africastalking.com is its sandbox."`
}

// Oracle is area D without its model.
type Oracle struct {
	DID                   string        `env:"ORACLE_DID" file:"did" is:"oracleDID" doc:"DID of the oracle; empty: the oracle twin made on the first start."`
	Name                  string        `env:"ORACLE_NAME" file:"name" default:"Hearth" is:"text 128" doc:"Name of the oracle."`
	Mnemonic              Secret        `env:"ORACLE_MNEMONIC" alias:"SECP_MNEMONIC" file:"mnemonic" is:"mnemonic" doc:"Phrase of the key that belongs to ORACLE_DID; without it callers are still authenticated, but nothing can be signed."`
	BlocksyncURL          string        `env:"BLOCKSYNC_GRAPHQL_URL" file:"blocksyncGraphqlUrl" is:"httpURL" doc:"Indexer to ask for did:ixo documents that are not stored here; empty: none is asked."`
	UCANAuthMaxTTL        time.Duration `env:"UCAN_AUTH_MAX_TTL_SECONDS" file:"ucanAuthMaxTtlSeconds" default:"900" is:"seconds 10 31536000" doc:"Longest life of a UCAN invocation, in seconds."`
	UCANDelegationMaxTTL  time.Duration `env:"UCAN_DELEGATION_MAX_TTL_SECONDS" file:"ucanDelegationMaxTtlSeconds" default:"31536000" is:"seconds 0 2000000000" doc:"How far away the expiry of a UCAN delegation may be, in seconds; 0: no limit."`
	UCANRequireInvocation bool          `env:"UCAN_REQUIRE_INVOCATION" file:"ucanRequireInvocation" default:"false" is:"boolean" doc:"Whether callers with UCANs need an invocation; if false, a delegation alone is a login until it expires."`
	UCANReauth            time.Duration `env:"UCAN_REAUTH_PROMPT_THROTTLE_SECONDS" file:"ucanReauthPromptThrottleSeconds" default:"21600" is:"seconds 60 31536000" doc:"Seconds to wait before a user who was asked to delegate something again is asked once more."`
	ThrottleLimit         int           `env:"THROTTLE_LIMIT" file:"throttleLimit" default:"300" is:"integer 0 10000000" doc:"Requests one caller DID may send within THROTTLE_TTL_MS, and twice that per address; 0: no limit."`
	ThrottleTTL           time.Duration `env:"THROTTLE_TTL_MS" file:"throttleTtlMs" default:"60000" is:"milliseconds 1000 86400000" doc:"The window of THROTTLE_LIMIT, in milliseconds."`
	RunsPerCaller         int           `env:"ORACLE_RUNS_PER_CALLER" file:"runsPerCaller" default:"3" is:"integer 1 1000" doc:"Answers the oracle works on at once for one caller."`
	RunTimeout            time.Duration `env:"ORACLE_RUN_TIMEOUT" file:"runTimeout" default:"10m" is:"duration 10s 1d" doc:"How long the oracle may work on one answer."`
	MCPServersFile        string        `env:"MCP_SERVERS_FILE" file:"mcpServersFile" is:"text 4096" doc:"YAML or JSON file with the MCP servers whose tools the oracle can use, in the form other MCP clients have: docs/mcp.md."`
	MCPProtected          []string      `env:"UCAN_PROTECTED_MCP_SERVERS" file:"mcpProtectedServers" is:"names 32" doc:"Servers of MCP_SERVERS_FILE whose tools need an invocation by the caller, one for each call."`
	Homeservers           []string      `env:"MATRIX_HOMESERVERS" file:"matrixHomeservers" is:"homeservers" doc:"Matrix homeservers that attachments are read from, with the access token of the caller; empty: such files are only named to the model."`
	Prompt                string        `env:"ORACLE_PROMPT" file:"prompt" is:"text 8192" doc:"What the model is told in addition to its task, such as who runs the programme."`
	PublicRoutes          []string      `env:"HEARTH_PUBLIC_ROUTES" file:"publicRoutes" is:"routes" doc:"Routes of plugins that are open to everybody; all other routes of plugins need a caller."`
}

// Model is the language model. BaseURL and APIKey are filled from the
// provider's own key when they were not given; both empty means the built-in
// offline model.
type Model struct {
	BaseURL       string   `env:"LLM_BASE_URL" file:"baseUrl" is:"httpURL" doc:"Base address of an OpenAI-compatible server; empty: that of LLM_PROVIDER when its key is given, otherwise the built-in offline model answers."`
	APIKey        Secret   `env:"LLM_API_KEY" file:"apiKey" is:"secret 0" doc:"Key for the server at LLM_BASE_URL."`
	Default       string   `env:"DEFAULT_MODEL" file:"default" is:"text 256" doc:"Model that answers when a request names none."`
	Offered       []string `env:"LLM_MODELS" file:"offered" is:"names 256" doc:"Further models that a request may choose."`
	Fallbacks     []string `env:"LLM_FALLBACK_MODELS" file:"fallbacks" is:"names 256" doc:"Models that are tried, in this order, when the chosen one fails."`
	Provider      string   `env:"LLM_PROVIDER" file:"provider" default:"auto" is:"oneOf auto openrouter nebius openai" doc:"Provider to use when LLM_BASE_URL is empty; auto takes the first one whose key is given."`
	OpenRouterKey Secret   `env:"OPEN_ROUTER_API_KEY" file:"openRouterApiKey" is:"secret 0" doc:"Key for the provider openrouter."`
	NebiusKey     Secret   `env:"NEBIUS_API_KEY" file:"nebiusApiKey" is:"secret 0" doc:"Key for the provider nebius."`
	OpenAIKey     Secret   `env:"OPENAI_API_KEY" file:"openAiApiKey" is:"secret 0" doc:"Key for the provider openai."`
}

// Observe is logs, metrics and traces.
type Observe struct {
	LogLevel       slog.Level `env:"LOG_LEVEL" file:"logLevel" default:"info" is:"logLevel" doc:"Lowest level that is logged."`
	LogFormat      string     `env:"LOG_FORMAT" file:"logFormat" default:"auto" is:"oneOf auto json text" doc:"Format of the log; auto is text on a terminal and JSON elsewhere."`
	LogRequests    string     `env:"LOG_REQUESTS" file:"logRequests" default:"auto" is:"oneOf auto on off" doc:"Whether each request writes a line to the log; auto is off on a terminal and on elsewhere. Errors are always logged."`
	MetricsEnabled bool       `env:"METRICS_ENABLED" file:"metricsEnabled" default:"true" is:"boolean" doc:"Serve /metrics to operators."`
	OTLPEndpoint   string     `env:"OTEL_EXPORTER_OTLP_ENDPOINT" file:"otlpEndpoint" is:"httpURL" doc:"OpenTelemetry collector that takes OTLP over HTTP; /v1/traces is appended. Empty: no tracing."`
	OTLPHeaders    Secret     `env:"OTEL_EXPORTER_OTLP_HEADERS" file:"otlpHeaders" is:"headerPairs" doc:"Headers for the collector: name=value pairs separated by commas."`
	ServiceName    string     `env:"OTEL_SERVICE_NAME" file:"serviceName" default:"hearth" is:"text 128" doc:"Name of this service in traces."`
	TraceRatio     float64    `env:"OTEL_TRACES_SAMPLER_ARG" file:"traceRatio" default:"1" is:"ratio" doc:"Share of new traces that are recorded; for a trace that a caller has begun, the caller's decision counts."`
}

// Default is the configuration of a start with no file, environment or flags.
func Default() *Config {
	c := &Config{sources: map[string]string{}}
	for _, s := range Settings() {
		// A test holds every default to its own rules.
		_ = s.set(c, s.Default)
		c.sources[s.Env] = sourceDefault
	}
	return c
}

// HasArea reports whether area name ("a" to "d") runs.
func (c *Config) HasArea(name string) bool { return slices.Contains(c.Server.Areas, name) }

// Production reports whether the environment is production.
func (c *Config) Production() bool { return c.Server.Environment == production }

// Postgres reports whether the store is PostgreSQL and not the embedded one.
func (c *Config) Postgres() bool { return c.Data.DatabaseURL != "" }

// Addr is the address of the merged listener.
func (c *Config) Addr() string {
	return net.JoinHostPort(c.Server.Host, strconv.Itoa(c.Server.Port))
}

// AllApart reports whether every area of this process has a listener of its
// own. Then the merged one is not opened.
func (c *Config) AllApart() bool {
	s := c.Server
	return s.APIAddr != "" && (s.USSDAddr != "" || !c.HasArea("c")) && (s.OracleAddr != "" || !c.HasArea("d"))
}

// ProbeAddr is the address of a listener that this configuration opens, for
// readiness probes from the same machine. All of them answer those; one whose
// port the system chooses cannot be found, so it comes last.
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

// UsesTLS reports whether the listeners speak TLS.
func (c *Config) UsesTLS() bool { return c.TLS.CertFile != "" || len(c.TLS.ACMEDomains) > 0 }

// File is the path of the configuration file that was read, "" without one.
func (c *Config) File() string { return c.file }

// Source says where the value of the setting with this environment name came
// from: "default", "file … line 3", "environment NODE_ENV" or "flag --port".
func (c *Config) Source(env string) string { return c.sources[env] }

// given reports whether the value of this setting was set explicitly.
func (c *Config) given(env string) bool { return c.sources[env] != sourceDefault }
