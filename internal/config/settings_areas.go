package config

import (
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ops"
)

func level(c *Config) *slog.Level { return &c.Observe.LogLevel }

func ussdSettings() []Setting {
	return []Setting{
		{
			Env: "PIN_ENCRYPTION_KEY", Key: "ussd.pinEncryptionKey", Default: "", Secret: true,
			Doc:   "Key that encrypts PINs, or a passphrase it is made from. Nothing derives one from the server's key, which production refuses.",
			value: at(func(c *Config) *Secret { return &c.USSD.PINKey }, pinKey()),
		},
		{
			Env: "PIN_ENCRYPTION_KEY_OLD", Key: "ussd.pinEncryptionKeyOld", Default: "", Secret: true,
			Doc:   "The key before PIN_ENCRYPTION_KEY. A job seals PINs under it anew after the start; take it away when `hearth ussd accounts rotate` says that none is left.",
			value: at(func(c *Config) *Secret { return &c.USSD.OldPINKey }, pinKey()),
		},
		{
			Env: "LEGACY_PIN_ENCRYPTION_KEY", Key: "ussd.legacyPinEncryptionKey", Default: "", Secret: true,
			Doc:   "Passphrase of imported PINs, which are checked with it once and then sealed anew. Nothing means PIN_ENCRYPTION_KEY.",
			value: at(func(c *Config) *Secret { return &c.USSD.LegacyPINKey }, secret(0)),
		},
		{
			Env: "USSD_GATEWAY_NETWORKS", Key: "ussd.gatewayNetworks", Default: "",
			Doc:   "Networks of the telecom gateways; they are exempt from the limit per address.",
			value: at(func(c *Config) *[]netip.Prefix { return &c.USSD.GatewayNetworks }, list(network())),
		},
		{
			Env: "USSD_GATEWAY_SECRET", Key: "ussd.gatewaySecret", Default: "", Secret: true,
			Doc:   "Shared secret by which a gateway proves itself.",
			value: at(func(c *Config) *Secret { return &c.USSD.GatewaySecret }, secret(16)),
		},
		{
			Env: "USSD_GATEWAY_ONLY", Key: "ussd.gatewayOnly", Default: "false",
			Doc:   "Refuse everybody who is not a known gateway.",
			value: at(func(c *Config) *bool { return &c.USSD.GatewayOnly }, boolean()),
		},
		{
			Env: "USSD_SESSION_TTL", Key: "ussd.sessionTtl", Default: "180s",
			Doc:   "How long a handset session may be silent.",
			value: at(func(c *Config) *time.Duration { return &c.USSD.SessionTTL }, duration(10*time.Second, 24*time.Hour, false)),
		},
		{
			Env: "USSD_RATE_LIMIT", Key: "ussd.rateLimit", Default: "100",
			Doc:   "Requests a minute and address; 0 is no limit.",
			value: at(func(c *Config) *int { return &c.USSD.RateLimit }, integer(0, perMinute)),
		},
		{
			Env: "USSD_TEXT_MODE", Key: "ussd.textMode", Default: "auto",
			Doc:   "What the text field holds: the whole dialog so far, the newest input, or find out.",
			value: at(func(c *Config) *string { return &c.USSD.TextMode }, oneOf("auto", "accumulated", "latest")),
		},
		{
			Env: "USSD_SERVICE_CODES", Aliases: []string{"ZM_SERVICE_CODES"}, Key: "ussd.serviceCodes", Default: "",
			Doc:   "Codes people dial, for texts and checks; nothing accepts any code.",
			value: at(func(c *Config) *[]string { return &c.USSD.ServiceCodes }, list(serviceCode())),
		},
		{
			Env: "USSD_MENU", Key: "ussd.menu", Default: "hearth",
			Doc:   "The menus: hearth or classic, or a YAML file, which is read again when it changes.",
			value: at(func(c *Config) *string { return &c.USSD.Menu }, text(4096)),
		},
		{
			Env: "USSD_GATEWAYS_FILE", Key: "ussd.gatewaysFile", Default: "",
			Doc:   "YAML file with further gateways, beside those that are shipped.",
			value: at(func(c *Config) *string { return &c.USSD.GatewaysFile }, text(4096)),
		},
	}
}

func smsSettings() []Setting {
	return []Setting{
		{
			Env: "SMS_PROVIDER", Key: "sms.provider", Default: "off",
			Doc:   "Who sends short messages: nobody, a webhook of yours, or Africa's Talking.",
			value: at(func(c *Config) *string { return &c.USSD.SMS.Provider }, oneOf("off", "webhook", "africastalking")),
		},
		{
			Env: "SMS_WEBHOOK_URL", Key: "sms.webhookUrl", Default: "", Secret: true,
			Doc:   "Where messages are posted with SMS_PROVIDER=webhook.",
			value: at(func(c *Config) *Secret { return &c.USSD.SMS.WebhookURL }, hookURL()),
		},
		{
			Env: "SMS_WEBHOOK_SECRET", Key: "sms.webhookSecret", Default: "", Secret: true,
			Doc:   "Signs what is posted there.",
			value: at(func(c *Config) *Secret { return &c.USSD.SMS.WebhookSecret }, secret(16)),
		},
		{
			Env: "AFRICASTALKING_USERNAME", Key: "sms.africasTalkingUsername", Default: "",
			Doc:   "User name at Africa's Talking.",
			value: at(func(c *Config) *string { return &c.USSD.SMS.ATUsername }, text(128)),
		},
		{
			Env: "AFRICASTALKING_API_KEY", Key: "sms.africasTalkingApiKey", Default: "", Secret: true,
			Doc:   "Key at Africa's Talking.",
			value: at(func(c *Config) *Secret { return &c.USSD.SMS.ATKey }, secret(0)),
		},
		{
			Env: "AFRICASTALKING_SENDER_ID", Key: "sms.africasTalkingSenderId", Default: "",
			Doc:   "Name or short code messages come from.",
			value: at(func(c *Config) *string { return &c.USSD.SMS.ATSender }, text(32)),
		},
		{
			Env: "AFRICASTALKING_URL", Key: "sms.africasTalkingUrl", Default: "https://api.africastalking.com",
			Doc:   "Address of its API; https://api.sandbox.africastalking.com is its sandbox.",
			value: at(func(c *Config) *string { return &c.USSD.SMS.ATURL }, httpURL()),
		},
	}
}

func oracleSettings() []Setting {
	return []Setting{
		{
			Env: "ORACLE_DID", Key: "oracle.did", Default: "",
			Doc:   "DID of the oracle; nothing uses the oracle twin made on the first start.",
			value: at(func(c *Config) *string { return &c.Oracle.DID }, oracleDID()),
		},
		{
			Env: "ORACLE_NAME", Key: "oracle.name", Default: "Hearth",
			Doc:   "Name of the oracle.",
			value: at(func(c *Config) *string { return &c.Oracle.Name }, text(128)),
		},
		{
			Env: "ORACLE_MNEMONIC", Aliases: []string{"SECP_MNEMONIC"}, Key: "oracle.mnemonic", Default: "", Secret: true,
			Doc:   "Phrase of the key that belongs to ORACLE_DID; without it callers are still authenticated, but nothing can be signed.",
			value: at(func(c *Config) *Secret { return &c.Oracle.Mnemonic }, mnemonic()),
		},
		{
			Env: "BLOCKSYNC_GRAPHQL_URL", Key: "oracle.blocksyncGraphqlUrl", Default: "",
			Doc:   "Outside resolver for did:ixo documents that are not stored here; nothing is off.",
			value: at(func(c *Config) *string { return &c.Oracle.BlocksyncURL }, httpURL()),
		},
		{
			Env: "UCAN_AUTH_MAX_TTL_SECONDS", Key: "oracle.ucanAuthMaxTtlSeconds", Default: "900",
			Doc:   "Longest life of a UCAN invocation, in seconds.",
			value: at(func(c *Config) *time.Duration { return &c.Oracle.UCANAuthMaxTTL }, counted("seconds", time.Second, 10, 31_536_000)),
		},
		{
			Env: "UCAN_DELEGATION_MAX_TTL_SECONDS", Key: "oracle.ucanDelegationMaxTtlSeconds", Default: "31536000",
			Doc:   "How far away the expiry of a UCAN delegation may be, in seconds; 0 is no limit.",
			value: at(func(c *Config) *time.Duration { return &c.Oracle.UCANDelegationMaxTTL }, counted("seconds", time.Second, 0, 2_000_000_000)),
		},
		{
			Env: "THROTTLE_LIMIT", Key: "oracle.throttleLimit", Default: "300",
			Doc:   "Requests one caller DID may send within THROTTLE_TTL_MS, twice that per address; 0 is no limit.",
			value: at(func(c *Config) *int { return &c.Oracle.ThrottleLimit }, integer(0, perMinute)),
		},
		{
			Env: "THROTTLE_TTL_MS", Key: "oracle.throttleTtlMs", Default: "60000",
			Doc:   "The window of THROTTLE_LIMIT, in milliseconds.",
			value: at(func(c *Config) *time.Duration { return &c.Oracle.ThrottleTTL }, counted("milliseconds", time.Millisecond, 1000, 86_400_000)),
		},
		{
			Env: "ORACLE_RUNS_PER_CALLER", Key: "oracle.runsPerCaller", Default: "3",
			Doc:   "Answers the oracle works on at once for one caller.",
			value: at(func(c *Config) *int { return &c.Oracle.RunsPerCaller }, integer(1, 1000)),
		},
		{
			Env: "ORACLE_RUN_TIMEOUT", Key: "oracle.runTimeout", Default: "10m",
			Doc:   "How long the oracle may work on one answer.",
			value: at(func(c *Config) *time.Duration { return &c.Oracle.RunTimeout }, duration(10*time.Second, 24*time.Hour, false)),
		},
		{
			Env: "ORACLE_PROMPT", Key: "oracle.prompt", Default: "",
			Doc:   "What the model shall know beside its task, such as who runs the programme.",
			value: at(func(c *Config) *string { return &c.Oracle.Prompt }, text(8192)),
		},
	}
}

func modelSettings() []Setting {
	return []Setting{
		{
			Env: "LLM_BASE_URL", Key: "model.baseUrl", Default: "",
			Doc:   "Base address of an OpenAI-compatible server; nothing follows LLM_PROVIDER and its key, and without those the built-in offline model answers.",
			value: at(func(c *Config) *string { return &c.Model.BaseURL }, httpURL()),
		},
		{
			Env: "LLM_API_KEY", Key: "model.apiKey", Default: "", Secret: true,
			Doc:   "Key for that server.",
			value: at(func(c *Config) *Secret { return &c.Model.APIKey }, secret(0)),
		},
		{
			Env: "DEFAULT_MODEL", Key: "model.default", Default: "",
			Doc:   "Name of the model when a request names none.",
			value: at(func(c *Config) *string { return &c.Model.Default }, text(256)),
		},
		{
			Env: "LLM_MODELS", Key: "model.offered", Default: "",
			Doc:   "Names of further models that a message may choose.",
			value: at(func(c *Config) *[]string { return &c.Model.Offered }, list(text(256))),
		},
		{
			Env: "LLM_FALLBACK_MODELS", Key: "model.fallbacks", Default: "",
			Doc:   "Names of models that are asked when the wanted one fails, in this order.",
			value: at(func(c *Config) *[]string { return &c.Model.Fallbacks }, list(text(256))),
		},
		{
			Env: "LLM_PROVIDER", Key: "model.provider", Default: "auto",
			Doc:   "Provider when LLM_BASE_URL is not given; auto takes the first one whose key is given.",
			value: at(func(c *Config) *string { return &c.Model.Provider }, oneOf("auto", "openrouter", "nebius", "openai")),
		},
		{
			Env: "OPEN_ROUTER_API_KEY", Key: "model.openRouterApiKey", Default: "", Secret: true,
			Doc:   "Key for the provider openrouter.",
			value: at(func(c *Config) *Secret { return &c.Model.OpenRouterKey }, secret(0)),
		},
		{
			Env: "NEBIUS_API_KEY", Key: "model.nebiusApiKey", Default: "", Secret: true,
			Doc:   "Key for the provider nebius.",
			value: at(func(c *Config) *Secret { return &c.Model.NebiusKey }, secret(0)),
		},
		{
			Env: "OPENAI_API_KEY", Key: "model.openAiApiKey", Default: "", Secret: true,
			Doc:   "Key for the provider openai.",
			value: at(func(c *Config) *Secret { return &c.Model.OpenAIKey }, secret(0)),
		},
	}
}

// headerPairs is empty or name=value pairs, as OTEL_EXPORTER_OTLP_HEADERS has
// them.
func headerPairs() kind[Secret] {
	return kind[Secret]{
		name: "secret", want: "name=value pairs separated by commas", list: true,
		parse: func(s string) (Secret, error) {
			headers, err := ops.ParseHeaders(s)
			if err != nil {
				return "", errors.New("has an entry that is not name=value")
			}
			for name := range headers {
				if strings.ContainsAny(name, " :\t") {
					return "", errors.New("has a name no header can have")
				}
			}
			return Secret(s), plain(s)
		},
		format: Secret.Reveal,
	}
}
