package config_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/config"
)

const (
	goodKey   = "3f1c8a5be09d472661e0b4c2d97a8f3055b6c1e2f3a4978d0c1b2a3f4e5d6c7b"
	serverKey = "HEARTH_SERVER_KEY=" + goodKey
)

// One wrong value for every key; the table test below makes sure none is
// forgotten.
var wrong = map[string][]string{
	"PORT":                               {"-1", "65536", "http", "3000 ", "99999999999999999999"},
	"HOST":                               {"a b", "http://x", "-x"},
	"HEARTH_ENV":                         {"Pro duction", strings.Repeat("x", 33)},
	"HEARTH_AREAS":                       {"e", "a,b,x", ","},
	"HEARTH_PUBLIC_URL":                  {"hearth.example.org", "ftp://x", "https://user:pw@x"},
	"HEARTH_API_ADDR":                    {"3001", "x:y", ":70000", "a b:1"},
	"HEARTH_USSD_ADDR":                   {"3001"},
	"HEARTH_ORACLE_ADDR":                 {"[::1"},
	"HEARTH_ADMIN_ADDR":                  {"127.0.0.1"},
	"HEARTH_STRICT_REFS":                 {"maybe", "2"},
	"HEARTH_VC_DIRECT_ISSUE":             {"maybe", "2"},
	"HEARTH_CONSOLE":                     {"maybe"},
	"HEARTH_CONSOLE_DIR":                 {"a\nb"},
	"HEARTH_CONSOLE_TILES":               {"tiles", "https://x.example/{z}/{x}", "https://{z}.example/{x}/{y}", "https://u:p@x.example/{z}/{x}/{y}", "https://x.example; script-src */{z}/{x}/{y}"},
	"HEARTH_CONSOLE_TILES_CREDIT":        {"a\nb"},
	"TRUST_PROXY_ENABLED":                {"loopback"},
	"HEARTH_TRUSTED_PROXIES":             {"10.0.0.0/33", "proxy.local", "10.0.0.0/8,x", "10.1.2.3/8", "::ffff:10.0.0.0/104"},
	"CORS_ORIGIN":                        {"app.example.org", "https://a.example/path", "https://*.example.org", "null", "*,https://a.example", "https://a.example?x", "https://u:p@a.example"},
	"HEARTH_DRAIN_DELAY":                 {"-5s", "soon", "6m"},
	"HEARTH_SHUTDOWN_TIMEOUT":            {"0", "-5s", "soon", "11m"},
	"HEARTH_TLS_CERT":                    {"cert.pem", "a\x01b"},
	"HEARTH_TLS_KEY":                     {"key.pem"},
	"HEARTH_ACME_DOMAINS":                {"localhost", "10.0.0.1", "a b.example"},
	"HEARTH_ACME_EMAIL":                  {"nobody", "me@example.org"},
	"HEARTH_ACME_DIRECTORY":              {"acme", "https://acme.example/dir"},
	"HEARTH_ACME_HTTP_ADDR":              {"80", ":80"},
	"HEARTH_DATA_DIR":                    {" ", "a\nb"},
	"DATABASE_URL":                       {"mysql://u:p@h/d", "hearth.db", "postgres://", "sqlite://x"},
	"HEARTH_SQLITE_SYNCHRONOUS":          {"OFF", "EXTRA", "1"},
	"DATABASE_READ_URL":                  {"mysql://u:p@h/d", "postgres://"},
	"HEARTH_REQUIRE_STANDBY":             {"perhaps", "1x"},
	"HEARTH_BUS_URL":                     {"mysql://u:p@h/d", "postgres://"},
	"NATS_URL":                           {"localhost:4222", "http://n:4222", "nats://a,b", "nats://", "nats://a/b"},
	"NATS_CREDENTIALS_FILE":              {"a\nb"},
	"NATS_CA_FILE":                       {"a\x00b"},
	"HEARTH_BACKUP_DIR":                  {"a\x00b"},
	"HEARTH_BACKUP_EVERY":                {"1s", "-1h", "daily"},
	"HEARTH_BACKUP_KEEP":                 {"0", "x"},
	"HEARTH_MAX_BODY_BYTES":              {"0", "1TiB", "ten", "99999999999999999999", "1XB"},
	"HEARTH_ORACLE_MAX_BODY_BYTES":       {"12"},
	"HEARTH_MAX_HEADER_BYTES":            {"1KiB", "2MiB"},
	"HEARTH_HEADER_TIMEOUT":              {"0", "1h"},
	"HEARTH_IDLE_TIMEOUT":                {"0"},
	"HEARTH_WRITE_TIMEOUT":               {"0"},
	"HEARTH_BODY_MIN_RATE":               {"0", "-1"},
	"HEARTH_MAX_CONNECTIONS":             {"0"},
	"HEARTH_MAX_CONNECTIONS_PER_ADDRESS": {"0"},
	"HEARTH_MAX_IN_FLIGHT":               {"0"},
	"HEARTH_RATE_LIMIT":                  {"-1", "6000/min"},
	"HEARTH_ADDRESS_RATE_LIMIT":          {"-1"},
	"HEARTH_IDEMPOTENCY_RETENTION":       {"0", "1s"},
	"HEARTH_SERVER_KEY":                  {"short", strings.Repeat("x", 31)},
	"HEARTH_OWNER_KEY":                   {"short", strings.Repeat("x", 31)},
	"HEARTH_EVENT_RETENTION":             {"1s", "-1", "99999999999d"},
	"HEARTH_JOB_RETENTION":               {"never"},
	"HEARTH_READING_RETENTION":           {"1h", "never"},
	"HEARTH_DELIVERY_RETENTION":          {"1m"},
	"HEARTH_WEBHOOK_TIMEOUT":             {"0"},
	"HEARTH_WEBHOOK_MAX_ATTEMPTS":        {"0", "101"},
	"HEARTH_OUTBOUND_ALLOW":              {"10.0.0.0/99", "http://x", "a b", "10.0.0.5:0", "hooks.local:99999"},
	"PIN_ENCRYPTION_KEY": {
		"short", strings.Repeat("0", 64), strings.Repeat("a", 32), "0123456789abcdef0123456789abcdef", goodKey[:63],
		"12345678901234567890123456789012", "change-me-change-me-change-me-32", strings.Repeat("z", 64),
	},
	"USSD_GATEWAY_NETWORKS":               {"safaricom"},
	"USSD_GATEWAY_SECRET":                 {"short"},
	"USSD_GATEWAY_ONLY":                   {"sometimes", "true"},
	"USSD_SESSION_TTL":                    {"0", "1s", "48h"},
	"USSD_RATE_LIMIT":                     {"-1"},
	"USSD_ASKS_PER_HOUR":                  {"0", "x"},
	"USSD_TEXT_MODE":                      {"both", "auto"},
	"USSD_SERVICE_CODES":                  {"2233", "*2233"},
	"PIN_ENCRYPTION_KEY_OLD":              {"short", goodKey[:63]},
	"LEGACY_PIN_ENCRYPTION_KEY":           {"a\nb"},
	"USSD_MENU":                           {"a\x00b"},
	"USSD_GATEWAYS_FILE":                  {"a\x00b"},
	"USSD_GATEWAY_CA":                     {"a\x00b", "ca.pem"},
	"HEARTH_SURVEY_CHANNELS":              {"visit", "web,fax"},
	"USSD_MENU_TWINS":                     {"a\tb", strings.Repeat("x", 65)},
	"SMS_PROVIDER":                        {"pigeon", "webhook", "africastalking"},
	"SMS_WEBHOOK_URL":                     {"hooks.example"},
	"SMS_WEBHOOK_SECRET":                  {"short"},
	"AFRICASTALKING_USERNAME":             {"a\nb"},
	"AFRICASTALKING_API_KEY":              {"a\nb"},
	"AFRICASTALKING_SENDER_ID":            {"a\nb", strings.Repeat("x", 33)},
	"AFRICASTALKING_URL":                  {"api.africastalking.com"},
	"ORACLE_DID":                          {"did:ixo", "ixo:entity:1", "did:IXO:x", "did:ixo:a b", "did:ixo:a/../b", "did:ixo:a//b", "did:ixo:a%zz"},
	"ORACLE_NAME":                         {" ", "a\r\nb", strings.Repeat("x", 129)},
	"ORACLE_MNEMONIC":                     {"one two three", strings.Repeat("abandon ", 13), strings.Repeat("ABANDON ", 12), strings.Repeat("abandon ", 12)},
	"BLOCKSYNC_GRAPHQL_URL":               {"blocksync"},
	"UCAN_AUTH_MAX_TTL_SECONDS":           {"0", "15m"},
	"UCAN_DELEGATION_MAX_TTL_SECONDS":     {"-1", "1h"},
	"UCAN_REQUIRE_INVOCATION":             {"perhaps"},
	"UCAN_REAUTH_PROMPT_THROTTLE_SECONDS": {"0", "6h"},
	"THROTTLE_LIMIT":                      {"-1"},
	"THROTTLE_TTL_MS":                     {"0", "60s"},
	"ORACLE_RUNS_PER_CALLER":              {"0", "x"},
	"ORACLE_RUN_TIMEOUT":                  {"1s", "never"},
	"ORACLE_PROMPT":                       {"a\x00b"},
	"HEARTH_PUBLIC_ROUTES":                {"/weather/now", "GET weather", "FETCH /weather/now"},
	"MCP_SERVERS_FILE":                    {"a\x00b"},
	"MATRIX_HOMESERVERS":                  {"matrix.example.org", "https://matrix.example.org/path", "https://matrix.example.org?a", "https://u:p@matrix.example.org", "mxc://matrix.example.org"},
	"UCAN_PROTECTED_MCP_SERVERS":          {"a\tb", strings.Repeat("x", 33)},
	"LLM_MODELS":                          {"a\tb"},
	"LLM_FALLBACK_MODELS":                 {"a\tb"},
	"LLM_BASE_URL":                        {"localhost:11434", "https://k:v@llm.example"},
	"LLM_API_KEY":                         {"a\nb", "key-without-a-server"},
	"DEFAULT_MODEL":                       {"a\tb"},
	"LLM_PROVIDER":                        {"skynet", "openrouter"},
	"OPEN_ROUTER_API_KEY":                 {"a\nb"},
	"NEBIUS_API_KEY":                      {"a\nb"},
	"OPENAI_API_KEY":                      {"a\nb"},
	"LOG_LEVEL":                           {"loud"},
	"LOG_FORMAT":                          {"xml"},
	"LOG_REQUESTS":                        {"true", "sometimes"},
	"METRICS_ENABLED":                     {"2"},
	"OTEL_EXPORTER_OTLP_ENDPOINT":         {"collector:4318"},
	"OTEL_EXPORTER_OTLP_HEADERS":          {"token", "a b=c"},
	"OTEL_SERVICE_NAME":                   {" ", "a\nb"},
	"OTEL_TRACES_SAMPLER_ARG":             {"2", "-1", "NaN", "half"},
}

func TestEveryKeyRefusesBadValues(t *testing.T) {
	t.Parallel()
	for _, s := range config.Settings() {
		if len(wrong[s.Env]) == 0 {
			t.Errorf("no wrong value is listed for %s", s.Env)
		}
		for _, text := range wrong[s.Env] {
			ps := problems(t, config.Input{Env: []string{s.Env + "=" + text}})
			// A check over two keys may name the other one.
			if !strings.Contains(ps.Error(), s.Env) {
				t.Errorf("%s=%q: %v does not name the key", s.Env, text, ps)
			}
			if s.Secret && s.Kind() != "url" && len(text) > 8 && strings.Contains(ps.Error(), strings.TrimSpace(text)) {
				t.Errorf("%s: the secret is in %q", s.Env, ps.Error())
			}
			if strings.ContainsAny(strings.ReplaceAll(ps.Error(), "\n  ", ""), "\n\r\x00") {
				t.Errorf("%s=%q: a problem breaks its line: %q", s.Env, text, ps.Error())
			}
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	f := files{"c.yaml": "server:\n  prot: 1\n  host: [a, b]\nPORT: 5\ndata:\n  databaseUrl: mysql://u:hunter2@db/x\nlimits:\n  maxBodyBytes:\nussd: 5\n"}
	ps := problems(t, config.Input{
		ReadFile: f.read,
		Env:      []string{"HEARTH_CONFIG=c.yaml", "HEARTH_DATADIR=/x", "HEARTH_TEST_DSN=ignored", "LOG_LEVEL=loud", "NODE_ENV=production", "PIN_ENCRYPTION_KEY=hunter2"},
		Flags:    map[string]string{"port": "x", "prot": "1"},
	})
	for _, want := range [][]string{
		{"server.prot (file c.yaml line 2)", "did you mean server.port?"},
		{"server.host (file c.yaml line 3)", "is a list"},
		{"PORT (file c.yaml line 4)", "did you mean server.port?"},
		{"data.databaseUrl (file c.yaml line 6)", `"mysql://u:****@db/x" has the wrong scheme: want postgres://`},
		{"limits.maxBodyBytes (file c.yaml line 8)", "has no value"},
		{"ussd (file c.yaml line 9)", "is not a setting"},
		{"HEARTH_DATADIR (environment)", "did you mean HEARTH_DATA_DIR?"},
		{"LOG_LEVEL (environment)", `"loud" is not valid: want one of trace`},
		{"PIN_ENCRYPTION_KEY (environment)", `"****" is neither 32 bytes long nor a passphrase`, "64 hexadecimal digits"},
		{"--port (flag)", `"x" is not valid`},
		{"--prot (flag)", "did you mean --port?"},
		{"HEARTH_SERVER_KEY (not given)", "is missing"},
	} {
		if !has(ps, want...) {
			t.Errorf("no problem with %q in:\n%v", want, ps)
		}
	}
	if len(ps) != 12 {
		t.Errorf("%d problems, want 12:\n%v", len(ps), ps)
	}
	if strings.Contains(ps.Error(), "hunter2") {
		t.Errorf("a password is shown:\n%v", ps)
	}
}

func TestCrossChecks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		env  []string
		want string // "" is fine
	}{
		{"production needs a server key", []string{"HEARTH_ENV=production", "HEARTH_AREAS=a"}, "HEARTH_SERVER_KEY (not given): is missing"},
		{"production needs a PIN key", []string{"HEARTH_ENV=production", serverKey}, "PIN_ENCRYPTION_KEY (not given): is missing"},
		{"production without area c", []string{"HEARTH_ENV=production", serverKey, "HEARTH_AREAS=a,b,d"}, ""},
		{"production with hex key", []string{"HEARTH_ENV=production", serverKey, "PIN_ENCRYPTION_KEY=" + goodKey}, ""},
		{"cert and key", []string{"HEARTH_TLS_CERT=c", "HEARTH_TLS_KEY=k"}, ""},
		{"acme and cert", []string{"HEARTH_TLS_CERT=c", "HEARTH_TLS_KEY=k", "HEARTH_ACME_DOMAINS=a.example"}, "HEARTH_ACME_DOMAINS"},
		{"acme", []string{"HEARTH_ACME_DOMAINS=a.example,b.example", "HEARTH_ACME_EMAIL=me@a.example", "HEARTH_ACME_HTTP_ADDR=:80"}, ""},
		{"one address twice", []string{"HEARTH_API_ADDR=:4000", "HEARTH_USSD_ADDR=:4000"}, "HEARTH_USSD_ADDR (environment HEARTH_USSD_ADDR): is the address of HEARTH_API_ADDR too"},
		{"address of PORT", []string{"HEARTH_API_ADDR=:3000"}, "is the address of PORT too"},
		{"any port twice", []string{"PORT=0", "HEARTH_API_ADDR=127.0.0.1:0", "HEARTH_USSD_ADDR=127.0.0.1:0"}, ""},
		{"listener of an absent area", []string{"HEARTH_AREAS=a", "HEARTH_USSD_ADDR=:4000"}, "HEARTH_USSD_ADDR"},
		{"gateways by secret", []string{"USSD_GATEWAY_ONLY=1", "USSD_GATEWAY_SECRET=0123456789abcdef"}, ""},
		{"socket folder", []string{"DATABASE_URL=postgres:///hearth?host=/run/postgresql"}, ""},
		{"NATS without others", []string{"NATS_URL=nats://n:4222"}, "NATS_URL (environment NATS_URL): has no effect without DATABASE_URL"},
		{"NATS", []string{"DATABASE_URL=postgres://h/d", "NATS_URL=nats://n:4222,tls://m:4222", "NATS_CREDENTIALS_FILE=c", "NATS_CA_FILE=ca"}, ""},
		{"credentials of nothing", []string{"DATABASE_URL=postgres://h/d", "NATS_CREDENTIALS_FILE=c"}, "NATS_CREDENTIALS_FILE"},
		{"NATS in the open", []string{"HEARTH_ENV=production", serverKey, "HEARTH_AREAS=a", "DATABASE_URL=postgres://h/d", "NATS_URL=tls://n:4222,nats://m:4222"}, "NATS_URL (environment NATS_URL): names a server on another host without TLS"},
		{"NATS on this host", []string{"HEARTH_ENV=production", serverKey, "HEARTH_AREAS=a", "DATABASE_URL=postgres://h/d", "NATS_URL=nats://127.0.0.1:4222,nats://localhost:4223,tls://m:4222"}, ""},
		{"a standby of a file", []string{"HEARTH_REQUIRE_STANDBY=true"}, "HEARTH_REQUIRE_STANDBY (environment HEARTH_REQUIRE_STANDBY): has no effect without DATABASE_URL"},
		{"a standby", []string{"DATABASE_URL=postgres://h/d", "HEARTH_REQUIRE_STANDBY=true"}, ""},
		{"a bus for nobody", []string{"HEARTH_BUS_URL=postgres://h/d"}, "HEARTH_BUS_URL"},
		{"NATS switched off", []string{"NATS_URL="}, ""},
		{"outbound with port", []string{"HEARTH_OUTBOUND_ALLOW=10.0.0.5:9000,[fd00::1]:443,Hooks.Local.:8080,10.1.2.3/8"}, ""},
		{"DID with slash", []string{"ORACLE_DID=did:ixo:entity/abc%3A1"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want == "" {
				load(t, tt.env...)
				return
			}
			ps := problems(t, config.Input{Env: tt.env})
			if len(ps) != 1 || !strings.Contains(ps[0].String(), tt.want) {
				t.Errorf("problems = %v, want one with %q", ps, tt.want)
			}
		})
	}
}

func TestPINKeyForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text string }{
		{"hex", goodKey},
		{"upper hex", strings.ToUpper(goodKey)},
		{"base64", "PxyKW+CdRyZh4LTC2XqPMFW2weLzpJeNDBsqP05dbHs="},
		{"base64url without padding", "PxyKW-CdRyZh4LTC2XqPMFW2weLzpJeNDBsqP05dbHs"},
		{"raw", "q7!Zr2#Vw9@Lk4$Tn6%Bh8^Cm1&Xd3*J"},
		{"passphrase", "seven stoves warm a long valley"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := load(t, "PIN_ENCRYPTION_KEY="+tt.text)
			if got := c.USSD.PINKey.Reveal(); got != tt.text {
				t.Errorf("key = %q, want it as written", got)
			}
		})
	}
}
