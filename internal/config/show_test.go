package config_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/config"
)

// canary stands for every secret; it must never come out again.
const canary = "Kx7vQ2mZp9Lr4Tn8Bw3Yc6Hd1Fs5Gj0A"

func secrets() []string {
	return []string{
		"HEARTH_OWNER_KEY=" + canary, "HEARTH_SERVER_KEY=" + canary, "PIN_ENCRYPTION_KEY=" + canary, "USSD_GATEWAY_SECRET=" + canary,
		"LLM_API_KEY=" + canary, "LLM_BASE_URL=https://llm.example/v1", "OPEN_ROUTER_API_KEY=" + canary, "NEBIUS_API_KEY=" + canary, "OPENAI_API_KEY=" + canary,
		"DATABASE_URL=postgres://hearth:" + canary + "@db.example/hearth?sslmode=disable&password=" + canary,
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=" + canary,
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	c := load(t, secrets()...)
	var b strings.Builder
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "%v %+v %#v %s %q %x\n", c, c, *c, c.Auth, c.USSD.PINKey, c.USSD.PINKey)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "config", c.Auth, "key", c.USSD.PINKey)
	raw, err := json.Marshal(c.Model)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(raw)
	fmt.Fprint(&b, c.Warnings())
	if strings.Contains(b.String(), canary) || strings.Contains(b.String(), fmt.Sprintf("%x", canary)) {
		t.Errorf("a secret is shown:\n%s", b.String())
	}
	ps := problems(t, config.Input{Env: []string{"NATS_URL=nats://" + canary + "@n1:4222,http://u:" + canary + "@n2:4222"}})
	if strings.Contains(ps.Error(), canary) || !strings.Contains(ps.Error(), "nats://****@n1:4222,http://u:****@n2:4222") {
		t.Errorf("problems = %v, want the secrets masked", ps)
	}
	for _, want := range []string{"postgres://hearth:****@db.example/hearth?password=****&sslmode=disable", "environment HEARTH_OWNER_KEY"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not shown in\n%s", want, b.String())
		}
	}
}

// Whatever part of an address holds a key, nobody reads it: not in the printed
// configuration, and not in what is said about a wrong one.
func TestEveryAddressIsMasked(t *testing.T) {
	t.Parallel()
	for _, s := range config.Settings() {
		if s.Kind() != "url" {
			if strings.Contains(s.Env, "URL") {
				t.Errorf("%s is of the kind %s, want url", s.Env, s.Kind())
			}
			continue
		}
		scheme := "https"
		switch s.Env {
		case "DATABASE_URL", "HEARTH_BUS_URL":
			scheme = "postgres"
		case "NATS_URL":
			scheme = "nats"
		}
		for _, address := range []string{
			scheme + "://host.example/v1?key=" + canary, scheme + "://user:" + canary + "@host.example/v1", scheme + "://host.example/v1/" + canary + "/x",
			scheme + "://host.example/v1#" + canary, scheme + "://host.example:" + canary, canary,
		} {
			if scheme != "https" && strings.HasSuffix(address, "/x") {
				continue // the name of a database, or nothing
			}
			var b strings.Builder
			c, err := config.Load(config.Input{Env: []string{s.Env + "=" + address}})
			if err != nil {
				b.WriteString(err.Error())
			} else if err := c.Print(&b); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), canary) {
				t.Errorf("%s=%s is shown:\n%s", s.Env, address, b.String())
			}
			if err == nil && !strings.Contains(b.String(), "host.example") {
				t.Errorf("%s: the host is not shown:\n%s", s.Env, b.String())
			}
		}
	}
	c := load(t, "SMS_WEBHOOK_URL=https://hooks.example/T0/k?a=b", "LLM_BASE_URL=https://llm.example/api/v1")
	for _, s := range config.Settings() {
		if want := map[string]string{"SMS_WEBHOOK_URL": "https://hooks.example/****?a=****", "LLM_BASE_URL": "https://llm.example/api/v1"}[s.Env]; want != "" && c.Shown(s) != want {
			t.Errorf("%s is shown as %s, want %s", s.Env, c.Shown(s), want)
		}
	}
	if text := fmt.Sprintf("%v %+v", c.USSD, c.USSD.SMS); strings.Contains(text, "T0") {
		t.Errorf("the address is shown: %s", text)
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := load(t, "PORT=8080", "HEARTH_AREAS=c,a").Print(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for _, want := range []string{"SETTING VALUE SOURCE", "PORT 8080 environment PORT", "HEARTH_AREAS a,c environment HEARTH_AREAS", "HOST - default", "HEARTH_MAX_BODY_BYTES 1MiB default", "USSD_SESSION_TTL 3m default"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Join(strings.Fields(l), " ") == want }) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
	if got, want := len(lines), len(config.Settings())+2; got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	prod := []string{"HEARTH_ENV=production", serverKey, "PIN_ENCRYPTION_KEY=" + goodKey}
	for _, tt := range []struct {
		name string
		env  []string
		want []string // beginnings; the list must be exactly these
	}{
		{"synchronous", []string{"HEARTH_SQLITE_SYNCHRONOUS=NORMAL"}, []string{"HEARTH_SQLITE_SYNCHRONOUS=normal"}},
		{"synchronous is of no matter on PostgreSQL", []string{"HEARTH_SQLITE_SYNCHRONOUS=NORMAL", "DATABASE_URL=postgres://h/d"}, nil},
		{"cors chosen", []string{"CORS_ORIGIN=*"}, []string{"CORS_ORIGIN=*"}},
		{"exact origins", []string{"CORS_ORIGIN=https://a.example"}, nil},
		{"proxy", []string{"TRUST_PROXY_ENABLED=true"}, []string{"TRUST_PROXY_ENABLED without"}},
		{"proxy with list", []string{"TRUST_PROXY_ENABLED=true", "HEARTH_TRUSTED_PROXIES=10.0.0.1"}, nil},
		{"list without proxy", []string{"HEARTH_TRUSTED_PROXIES=10.0.0.1"}, []string{"HEARTH_TRUSTED_PROXIES has no effect"}},
		{"proxy for all", []string{"TRUST_PROXY_ENABLED=true", "HEARTH_TRUSTED_PROXIES=0.0.0.0/0"}, []string{"HEARTH_TRUSTED_PROXIES holds 0.0.0.0/0"}},
		{"production as it comes", prod, []string{"CORS_ORIGIN=*", "no TLS on :3000", "USSD is open"}},
		{"production done well", append(prod, "CORS_ORIGIN=https://a.example", "HEARTH_TLS_CERT=c", "HEARTH_TLS_KEY=k", "USSD_GATEWAY_ONLY=true", "USSD_GATEWAY_NETWORKS=198.51.100.0/24"), nil},
		{"production on loopback", append(prod, "CORS_ORIGIN=https://a.example", "HOST=127.0.0.1", "HEARTH_AREAS=a"), nil},
		{"admin", []string{"HEARTH_ADMIN_ADDR=:9000"}, []string{"HEARTH_ADMIN_ADDR=:9000"}},
		{"admin at home", []string{"HEARTH_ADMIN_ADDR=127.0.0.1:9000"}, nil},
		{"outbound", []string{"HEARTH_OUTBOUND_ALLOW=10.0.0.0/8,hooks.local,169.254.0.0/16,::/0,[fd00:ec2::254]:80,169.254.169.254:9000"}, []string{
			"HEARTH_OUTBOUND_ALLOW lets webhooks reach 10.0.0.0/8", "HEARTH_OUTBOUND_ALLOW lets webhooks reach hooks.local", "HEARTH_OUTBOUND_ALLOW holds 169.254.0.0/16",
			"HEARTH_OUTBOUND_ALLOW holds ::/0: webhooks may reach every machine", "HEARTH_OUTBOUND_ALLOW holds [fd00:ec2::254]:80", "HEARTH_OUTBOUND_ALLOW lets webhooks reach 169.254.169.254:9000",
		}},
		{"no limits", []string{"HEARTH_RATE_LIMIT=0", "HEARTH_ADDRESS_RATE_LIMIT=0", "USSD_RATE_LIMIT=0", "THROTTLE_LIMIT=0"}, []string{"HEARTH_RATE_LIMIT", "HEARTH_ADDRESS_RATE_LIMIT", "USSD_RATE_LIMIT", "THROTTLE_LIMIT"}},
		{"backups beside the data", []string{"HEARTH_BACKUP_EVERY=1d"}, []string{"backups are kept in the data folder"}},
		{"backups of PostgreSQL", []string{"HEARTH_BACKUP_EVERY=1d", "HEARTH_BACKUP_DIR=/b", "DATABASE_URL=postgres://h/d"}, nil},
		{"DID without key", []string{"ORACLE_DID=did:ixo:entity:1"}, []string{"ORACLE_DID without"}},
		{"model key over http", []string{"LLM_BASE_URL=http://llm.example", "LLM_API_KEY=k"}, []string{"LLM_BASE_URL is not https"}},
		{"tokens over http", []string{"MATRIX_HOMESERVERS=http://matrix.example,https://matrix.example.org"}, []string{"MATRIX_HOMESERVERS holds http://matrix.example: access tokens"}},
		{"local model", []string{"LLM_BASE_URL=http://127.0.0.1:11434/v1", "LLM_API_KEY=k"}, nil},
		{"slip", []string{"USSD_SESION_TTL=5"}, []string{"USSD_SESION_TTL in the environment is not a setting; did you mean USSD_SESSION_TTL?"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := load(t, tt.env...).Warnings()
			if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("Warnings() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSecretAsFlagIsWarned(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Input{Flags: map[string]string{"owner-key": canary}})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Warnings(); len(got) != 1 || !strings.HasPrefix(got[0], "--owner-key holds a secret") || strings.Contains(got[0], canary) {
		t.Errorf("Warnings() = %q", got)
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		env       []string
		base, key string
	}{
		{"none", nil, "", ""},
		{"own server", []string{"LLM_BASE_URL=http://localhost:1/v1/", "OPENAI_API_KEY=o"}, "http://localhost:1/v1", ""},
		{"openrouter by key", []string{"OPEN_ROUTER_API_KEY=r", "OPENAI_API_KEY=o"}, "https://openrouter.ai/api/v1", "r"},
		{"nebius by name", []string{"LLM_PROVIDER=nebius", "NEBIUS_API_KEY=n", "OPEN_ROUTER_API_KEY=r"}, "https://api.studio.nebius.com/v1", "n"},
		{"openai with the general key", []string{"LLM_PROVIDER=openai", "LLM_API_KEY=k"}, "https://api.openai.com/v1", "k"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := load(t, tt.env...).Model
			if m.BaseURL != tt.base || m.APIKey.Reveal() != tt.key {
				t.Errorf("got %q with key %q, want %q with %q", m.BaseURL, m.APIKey.Reveal(), tt.base, tt.key)
			}
		})
	}
}
