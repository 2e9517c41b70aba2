package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// checker finds conflicts between settings that are valid alone.
type checker struct {
	c      *Config
	failed map[string]bool // settings whose value was already refused
	bad    Problems
}

func check(c *Config, failed map[string]bool) Problems {
	k := &checker{c: c, failed: failed}
	k.server()
	k.listeners()
	k.tls()
	k.secrets()
	k.sms()
	k.bus()
	k.ussd()
	k.model()
	return k.bad
}

// add notes a problem unless one of the settings it is about was refused.
func (k *checker) add(detail string, envs ...string) {
	for _, env := range envs {
		if k.failed[env] {
			return
		}
	}
	source := k.c.sources[envs[0]]
	if source == sourceDefault {
		source = "not given"
	}
	k.bad = append(k.bad, Problem{Key: envs[0], Source: source, Detail: detail})
}

func (k *checker) server() {
	s := &k.c.Server
	if len(s.Areas) == 0 {
		k.add("names no area: want some of a, b, c, d", "HEARTH_AREAS")
	}
	slices.Sort(s.Areas)
	s.Areas = slices.Compact(s.Areas)
	if strings.TrimSpace(k.c.Data.Dir) == "" {
		k.add("is empty: want a folder", "HEARTH_DATA_DIR")
	}
	if strings.TrimSpace(k.c.Oracle.Name) == "" {
		k.add("is empty: want a name", "ORACLE_NAME")
	}
	if strings.TrimSpace(k.c.Observe.ServiceName) == "" {
		k.add("is empty: want a name", "OTEL_SERVICE_NAME")
	}
}

// listeners refuses one address for two listeners and an address for an area
// that does not run, which nobody would serve.
func (k *checker) listeners() {
	s := k.c.Server
	taken := map[string]string{}
	if s.Port != 0 {
		taken[net.JoinHostPort(s.Host, strconv.Itoa(s.Port))] = "PORT"
	}
	for _, l := range []struct {
		env, addr string
		runs      bool
	}{
		{"HEARTH_API_ADDR", s.APIAddr, k.c.HasArea("a") || k.c.HasArea("b")},
		{"HEARTH_USSD_ADDR", s.USSDAddr, k.c.HasArea("c")},
		{"HEARTH_ORACLE_ADDR", s.OracleAddr, k.c.HasArea("d")},
		{"HEARTH_ADMIN_ADDR", s.AdminAddr, true},
		{"HEARTH_ACME_HTTP_ADDR", k.c.TLS.ACMEHTTPAddr, true},
	} {
		if l.addr == "" {
			continue
		}
		if !l.runs {
			k.add("is given for an area that HEARTH_AREAS leaves out", l.env, "HEARTH_AREAS")
		}
		if strings.HasSuffix(l.addr, ":0") {
			continue
		}
		if other, ok := taken[l.addr]; ok {
			k.add("is the address of "+other+" too: want one address for each", l.env, other)
		}
		taken[l.addr] = l.env
	}
}

func (k *checker) tls() {
	t := k.c.TLS
	switch {
	case t.CertFile != "" && t.KeyFile == "":
		k.add("is missing: a certificate (HEARTH_TLS_CERT) needs its key", "HEARTH_TLS_KEY", "HEARTH_TLS_CERT")
	case t.KeyFile != "" && t.CertFile == "":
		k.add("is missing: a key (HEARTH_TLS_KEY) needs its certificate", "HEARTH_TLS_CERT", "HEARTH_TLS_KEY")
	}
	if len(t.ACMEDomains) > 0 && (t.CertFile != "" || t.KeyFile != "") {
		k.add("cannot be used together with HEARTH_TLS_CERT and HEARTH_TLS_KEY", "HEARTH_ACME_DOMAINS")
	}
	if t.ACMEEmail != "" && !strings.Contains(t.ACMEEmail, "@") {
		k.add("is not valid: want an e-mail address", "HEARTH_ACME_EMAIL")
	}
	if len(t.ACMEDomains) > 0 {
		return
	}
	for _, s := range []struct{ env, value string }{
		{"HEARTH_ACME_EMAIL", t.ACMEEmail},
		{"HEARTH_ACME_DIRECTORY", t.ACMEDirectory},
		{"HEARTH_ACME_HTTP_ADDR", t.ACMEHTTPAddr},
	} {
		if s.value != "" {
			k.add("has no effect without HEARTH_ACME_DOMAINS", s.env, "HEARTH_ACME_DOMAINS")
		}
	}
}

// sms: the chosen sender needs an address or a key.
func (k *checker) sms() {
	sms := k.c.USSD.SMS
	if sms.Provider == "webhook" && sms.WebhookURL == "" {
		k.add("is missing: SMS_PROVIDER=webhook posts messages there", "SMS_WEBHOOK_URL", "SMS_PROVIDER")
	}
	if sms.Provider == "africastalking" && (sms.ATUsername == "" || sms.ATKey == "") {
		k.add("is missing: SMS_PROVIDER=africastalking needs it and AFRICASTALKING_USERNAME", "AFRICASTALKING_API_KEY", "SMS_PROVIDER")
	}
}

// secrets: production must not depend on generated keys that exist only in one
// data folder.
func (k *checker) secrets() {
	if k.c.Production() && k.c.Auth.ServerKey == "" {
		k.add("is missing: production does not run with a generated key; want 32 characters or more", "HEARTH_SERVER_KEY")
	}
	if k.c.Production() && k.c.HasArea("c") && k.c.USSD.PINKey == "" {
		k.add("is missing: production does not run area C with a generated key; want "+pinKey().want, "PIN_ENCRYPTION_KEY", "HEARTH_AREAS")
	}
	if k.c.USSD.OldPINKey != "" && k.c.USSD.PINKey == "" {
		k.add("is missing: PIN_ENCRYPTION_KEY_OLD is the key before it", "PIN_ENCRYPTION_KEY", "PIN_ENCRYPTION_KEY_OLD")
	}
	if k.c.Oracle.Mnemonic != "" && k.c.Oracle.DID == "" {
		k.add("is missing: ORACLE_MNEMONIC is the key of a DID that must be named", "ORACLE_DID", "ORACLE_MNEMONIC")
	}
}

// bus: messages between instances need a database that several share, and a
// connection that nobody else reads.
func (k *checker) bus() {
	d := k.c.Data
	if d.RequireStandby && !k.c.Postgres() {
		k.add("has no effect without DATABASE_URL: the embedded store has no standby", "HEARTH_REQUIRE_STANDBY", "DATABASE_URL")
	}
	for _, s := range []struct{ env, value string }{
		{"DATABASE_READ_URL", d.ReadURL.Reveal()}, {"HEARTH_BUS_URL", d.BusURL.Reveal()}, {"NATS_URL", d.NATSURL.Reveal()},
	} {
		if s.value != "" && !k.c.Postgres() {
			k.add("has no effect without DATABASE_URL: one server on the embedded store has no others", s.env, "DATABASE_URL")
		}
	}
	for _, s := range []struct{ env, value string }{
		{"NATS_CREDENTIALS_FILE", d.NATSCredentials}, {"NATS_CA_FILE", d.NATSCA},
	} {
		if s.value != "" && d.NATSURL == "" {
			k.add("has no effect without NATS_URL", s.env, "NATS_URL")
		}
	}
	if d.NATSURL == "" || !k.c.Production() {
		return
	}
	for one := range strings.SplitSeq(d.NATSURL.Reveal(), ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err == nil && u.Scheme != "tls" && !loopback(u.Hostname()) {
			k.add("names a server on another host without TLS: messages can hold personal data; want tls://", "NATS_URL")
			return
		}
	}
}

func (k *checker) ussd() {
	u := k.c.USSD
	if u.GatewayOnly && len(u.GatewayNetworks) == 0 && u.GatewaySecret == "" && u.GatewayCA == "" {
		k.add("refuses everybody: want USSD_GATEWAY_NETWORKS, USSD_GATEWAY_SECRET or USSD_GATEWAY_CA as well", "USSD_GATEWAY_ONLY", "USSD_GATEWAY_NETWORKS", "USSD_GATEWAY_SECRET", "USSD_GATEWAY_CA")
	}
	if u.GatewayCA != "" && !k.c.UsesTLS() {
		k.add("has no effect without HEARTH_TLS_CERT or HEARTH_ACME_DOMAINS: gateways show certificates where TLS is served here", "USSD_GATEWAY_CA", "HEARTH_TLS_CERT", "HEARTH_ACME_DOMAINS")
	}
}
