package config

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/outbound"
)

// Warnings names the insecure choices in this configuration, one sentence
// each, for the boot log. Defaults that suit a laptop are named in production
// only.
func (c *Config) Warnings() []string {
	w := warnings(slices.Clone(c.notes))
	w.storage(c)
	w.edge(c)
	w.areas(c)
	w.operation(c)
	return w
}

type warnings []string

func (w *warnings) addf(yes bool, format string, args ...any) {
	if yes {
		*w = append(*w, fmt.Sprintf(format, args...))
	}
}

func (w *warnings) storage(c *Config) {
	w.addf(c.Data.SQLiteSynchronous == "normal" && !c.Postgres(),
		"HEARTH_SQLITE_SYNCHRONOUS=normal: a power cut may lose writes that were answered with success")
	w.addf(strings.Contains(c.Data.DatabaseURL.Reveal(), "sslmode=disable") && c.Production(),
		"DATABASE_URL has sslmode=disable: passwords and data cross the network unencrypted")
	w.addf(c.Backup.Every > 0 && c.Backup.Dir == "",
		"backups are kept in the data folder: a lost disk takes both; set HEARTH_BACKUP_DIR")
}

func (w *warnings) edge(c *Config) {
	s := c.Server
	w.addf(s.CORSOrigin == "*" && (c.Production() || c.given("CORS_ORIGIN")),
		"CORS_ORIGIN=*: pages of any origin may call the API (without credentials)")
	w.addf(s.TrustProxy && len(s.TrustedProxies) == 0,
		"TRUST_PROXY_ENABLED without HEARTH_TRUSTED_PROXIES: any private or loopback peer may claim any client address")
	w.addf(!s.TrustProxy && len(s.TrustedProxies) > 0,
		"HEARTH_TRUSTED_PROXIES has no effect: TRUST_PROXY_ENABLED is not true")
	for _, p := range s.TrustedProxies {
		w.addf(strings.HasSuffix(p, "/0"), "HEARTH_TRUSTED_PROXIES holds %s: everybody may claim any client address", p)
	}
	w.addf(c.Production() && !c.UsesTLS() && !s.TrustProxy && !loopback(s.Host),
		"no TLS on %s: keys and data cross the network unencrypted; set HEARTH_TLS_CERT or HEARTH_ACME_DOMAINS, or put a proxy before it and set TRUST_PROXY_ENABLED", c.Addr())
	if s.AdminAddr != "" {
		host, _, _ := net.SplitHostPort(s.AdminAddr)
		w.addf(!loopback(host), "HEARTH_ADMIN_ADDR=%s: operator routes and metrics can be reached from other machines", s.AdminAddr)
	}
	w.addf(c.Limits.RateLimit == 0, "HEARTH_RATE_LIMIT=0: no rate limit per key")
	w.addf(c.Limits.AddressRateLimit == 0, "HEARTH_ADDRESS_RATE_LIMIT=0: no rate limit per address")
	for _, line := range outboundWarnings(c) {
		w.addf(true, "%s", line)
	}
}

func (w *warnings) areas(c *Config) {
	if c.HasArea("c") {
		open := !c.USSD.GatewayOnly
		w.addf(open && (c.Production() || c.given("USSD_GATEWAY_ONLY")),
			"USSD is open: anyone who reaches /api/ussd can speak for any phone number; set USSD_GATEWAY_ONLY with USSD_GATEWAY_NETWORKS, USSD_GATEWAY_SECRET or USSD_GATEWAY_CA")
		w.addf(c.USSD.RateLimit == 0, "USSD_RATE_LIMIT=0: no limit on dialling, and none on guessing PINs over many sessions")
		for _, p := range c.USSD.GatewayNetworks {
			w.addf(p.Bits() == 0, "USSD_GATEWAY_NETWORKS holds %s: everybody is a gateway", p)
		}
	}
	if c.HasArea("d") {
		w.addf(c.Oracle.ThrottleLimit == 0, "THROTTLE_LIMIT=0: no rate limit per caller")
		w.addf(c.Oracle.DID != "" && c.Oracle.Mnemonic == "", "ORACLE_DID without ORACLE_MNEMONIC: the oracle authenticates callers but can sign nothing")
		w.addf(plainHTTP(c.Model.BaseURL) && c.Model.APIKey != "", "LLM_BASE_URL is not https: the model key crosses the network unencrypted")
		for _, h := range c.Oracle.Homeservers {
			w.addf(plainHTTP(h), "MATRIX_HOMESERVERS holds %s: access tokens of users cross the network unencrypted", h)
		}
	}
}

func (w *warnings) operation(c *Config) {
	for _, s := range Settings() {
		w.addf(s.Secret && strings.HasPrefix(c.sources[s.Env], "flag "),
			"--%s holds a secret that other users of this machine see in the process list; use %s or %s_FILE", s.Flag(), s.Env, s.Env)
	}
	w.addf(c.VC.DirectIssue && c.Production(), "HEARTH_VC_DIRECT_ISSUE=true: a test issuer signs credentials that are not based on a claim")
	w.addf(plainHTTP(c.Observe.OTLPEndpoint) && c.Production(), "OTEL_EXPORTER_OTLP_ENDPOINT is not https: traces cross the network unencrypted")
	w.addf(c.Observe.LogLevel < 0 && c.Production(), "LOG_LEVEL is below info in production")
}

// loopback reports whether host can be reached from this machine only. The empty
// host is all addresses.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// plainHTTP reports whether an address leaves this machine unencrypted.
func plainHTTP(address string) bool {
	u, err := parseURL(address, "http")
	return err == nil && !loopback(u.Hostname())
}

// outboundWarnings names every opening of the outbound guard, and the dangerous
// ones.
func outboundWarnings(c *Config) []string {
	var out []string
	for _, entry := range c.Events.OutboundAllow {
		switch {
		case strings.HasSuffix(entry, "/0"):
			out = append(out, fmt.Sprintf("HEARTH_OUTBOUND_ALLOW holds %s: webhooks may reach every machine, this one and cloud metadata included", entry))
		case opensMetadata(entry):
			out = append(out, fmt.Sprintf("HEARTH_OUTBOUND_ALLOW holds %s: webhooks may read cloud metadata and its credentials", entry))
		default:
			out = append(out, fmt.Sprintf("HEARTH_OUTBOUND_ALLOW lets webhooks reach %s", entry))
		}
	}
	return out
}

// opensMetadata asks the guard itself what one entry admits.
func opensMetadata(entry string) bool {
	guard, err := outbound.New(outbound.Config{Allow: []string{entry}})
	if err != nil {
		return false // Load has refused it
	}
	for _, u := range []string{"http://169.254.169.254/", "http://100.100.100.200/", "http://168.63.129.16/", "http://[fd00:ec2::254]/"} {
		if _, err := guard.CheckURL(u); err == nil {
			return true
		}
	}
	return false
}
