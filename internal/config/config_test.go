package config_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/config"
)

// files is a folder for Load: path → content.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	text, ok := f[filepath.ToSlash(name)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func load(t *testing.T, env ...string) *config.Config {
	t.Helper()
	c, err := config.Load(config.Input{Env: env})
	if err != nil {
		t.Fatalf("Load(%q): %v", env, err)
	}
	return c
}

// problems gives the list of problems Load must find.
func problems(t *testing.T, in config.Input) config.Problems {
	t.Helper()
	c, err := config.Load(in)
	var ps config.Problems
	if !errors.As(err, &ps) {
		t.Fatalf("Load: error = %v, want Problems", err)
	}
	if c != nil {
		t.Errorf("Load: a config came with problems")
	}
	return ps
}

func has(ps config.Problems, parts ...string) bool {
	return slices.ContainsFunc(ps, func(p config.Problem) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(p.String(), part) })
	})
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := load(t)
	if got := c.Addr(); got != ":3000" {
		t.Errorf("Addr() = %q, want :3000", got)
	}
	if got := c.Limits.MaxBodyBytes; got != 1<<20 {
		t.Errorf("MaxBodyBytes = %d, want 1 MiB", got)
	}
	if got := c.Limits.OracleMaxBodyBytes; got != 100<<10 {
		t.Errorf("OracleMaxBodyBytes = %d, want 100 KiB", got)
	}
	if got := c.USSD.SessionTTL; got != 3*time.Minute {
		t.Errorf("SessionTTL = %v, want 3m", got)
	}
	if got := c.Oracle.ThrottleTTL; got != time.Minute {
		t.Errorf("ThrottleTTL = %v, want 1m", got)
	}
	if got := c.Server.ShutdownTimeout; got != 15*time.Second {
		t.Errorf("ShutdownTimeout = %v, want 15s", got)
	}
	if got := c.BackupDir(); got != filepath.Join("hearth-data", "backups") {
		t.Errorf("BackupDir() = %q", got)
	}
	if got := c.Warnings(); len(got) != 0 {
		t.Errorf("Warnings() of an empty start = %q, want none", got)
	}
	if !c.HasArea("a") || !c.HasArea("d") || c.Production() || c.UsesTLS() {
		t.Errorf("areas %v, environment %q", c.Server.Areas, c.Server.Environment)
	}
}

// Every key named by the design exists.
func TestEveryKeyExists(t *testing.T) {
	t.Parallel()
	want := `PORT HOST HEARTH_DATA_DIR DATABASE_URL HEARTH_ENV HEARTH_OWNER_KEY PIN_ENCRYPTION_KEY TRUST_PROXY_ENABLED HEARTH_TRUSTED_PROXIES
		USSD_GATEWAY_NETWORKS USSD_GATEWAY_SECRET USSD_GATEWAY_ONLY USSD_SESSION_TTL USSD_RATE_LIMIT USSD_TEXT_MODE
		ORACLE_DID ORACLE_NAME ORACLE_MNEMONIC BLOCKSYNC_GRAPHQL_URL CORS_ORIGIN UCAN_AUTH_MAX_TTL_SECONDS UCAN_DELEGATION_MAX_TTL_SECONDS
		THROTTLE_LIMIT THROTTLE_TTL_MS LLM_BASE_URL LLM_API_KEY DEFAULT_MODEL LLM_PROVIDER OPEN_ROUTER_API_KEY NEBIUS_API_KEY OPENAI_API_KEY
		NATS_URL LOG_LEVEL LOG_FORMAT METRICS_ENABLED HEARTH_API_ADDR HEARTH_USSD_ADDR HEARTH_ORACLE_ADDR HEARTH_ADMIN_ADDR HEARTH_AREAS
		HEARTH_STRICT_REFS HEARTH_TLS_CERT HEARTH_TLS_KEY HEARTH_ACME_DOMAINS HEARTH_ACME_EMAIL HEARTH_ACME_DIRECTORY HEARTH_MAX_BODY_BYTES
		HEARTH_RATE_LIMIT HEARTH_ADDRESS_RATE_LIMIT HEARTH_DRAIN_DELAY HEARTH_SHUTDOWN_TIMEOUT HEARTH_OUTBOUND_ALLOW HEARTH_EVENT_RETENTION
		HEARTH_IDEMPOTENCY_RETENTION HEARTH_JOB_RETENTION HEARTH_DELIVERY_RETENTION HEARTH_BACKUP_DIR HEARTH_BACKUP_EVERY HEARTH_BACKUP_KEEP
		HEARTH_SQLITE_SYNCHRONOUS HEARTH_WEBHOOK_TIMEOUT HEARTH_WEBHOOK_MAX_ATTEMPTS OTEL_EXPORTER_OTLP_ENDPOINT OTEL_SERVICE_NAME`
	have := map[string]bool{}
	for _, s := range config.Settings() {
		have[s.Env] = true
	}
	for _, name := range strings.Fields(want) {
		if !have[name] {
			t.Errorf("no setting %s", name)
		}
	}
}

// The table is sound: names are unique and well formed, groups exist, texts
// are there.
func TestTable(t *testing.T) {
	t.Parallel()
	envForm, keyForm := regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`), regexp.MustCompile(`^[a-z]+\.[a-z][A-Za-z0-9]*$`)
	seen := map[string]string{}
	claim := func(name, owner string) {
		if other, ok := seen[name]; ok {
			t.Errorf("%s is used by %s and %s", name, other, owner)
		}
		seen[name] = owner
	}
	var groups []string
	for _, g := range config.Groups() {
		groups = append(groups, g.Key)
	}
	for _, s := range config.Settings() {
		for _, name := range append([]string{s.Env, "flag " + s.Flag(), "key " + s.Key}, s.Aliases...) {
			claim(name, s.Env)
		}
		if !envForm.MatchString(s.Env) || !keyForm.MatchString(s.Key) {
			t.Errorf("%s, %s: not well formed", s.Env, s.Key)
		}
		if !slices.Contains(groups, s.Group()) {
			t.Errorf("%s: no group %q", s.Env, s.Group())
		}
		if !strings.HasSuffix(s.Doc, ".") || s.Want() == "" || s.Kind() == "" {
			t.Errorf("%s: text is missing", s.Env)
		}
	}
}

// A default given by hand is accepted and changes nothing but the source.
func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	base := load(t)
	for _, s := range config.Settings() {
		if s.Default == "" {
			continue
		}
		c := load(t, s.Env+"="+s.Default)
		if got, want := c.Shown(s), base.Shown(s); got != want {
			t.Errorf("%s=%s gives %q, want %q", s.Env, s.Default, got, want)
		}
		if got, want := c.Source(s.Env), "environment "+s.Env; got != want {
			t.Errorf("Source(%s) = %q, want %q", s.Env, got, want)
		}
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	f := files{"hearth-data/hearth.yaml": "server:\n  port: 1001\n  host: 127.0.0.1\nlimits:\n  rateLimit: 7\n"}
	c, err := config.Load(config.Input{
		ReadFile: f.read,
		Env:      []string{"PORT=1002", "HEARTH_RATE_LIMIT=", "NODE_ENV=prod", serverKey, "HEARTH_AREAS=a,B,a"},
		Flags:    map[string]string{"port": "1003"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ env, got, want, source string }{
		{"PORT", fmt.Sprint(c.Server.Port), "1003", "flag --port"},
		{"HOST", c.Server.Host, "127.0.0.1", "file hearth-data/hearth.yaml line 3"},
		{"HEARTH_RATE_LIMIT", fmt.Sprint(c.Limits.RateLimit), "7", "file hearth-data/hearth.yaml line 5"},
		{"HEARTH_ENV", c.Server.Environment, "production", "environment NODE_ENV"},
		{"HEARTH_AREAS", fmt.Sprint(c.Server.Areas), "[a b]", "environment HEARTH_AREAS"},
		{"LOG_FORMAT", c.Observe.LogFormat, "auto", "default"},
	} {
		if tt.got != tt.want || filepath.ToSlash(c.Source(tt.env)) != tt.source {
			t.Errorf("%s = %q from %q, want %q from %q", tt.env, tt.got, c.Source(tt.env), tt.want, tt.source)
		}
	}
}

func TestAliases(t *testing.T) {
	t.Parallel()
	words := strings.TrimSpace(strings.Repeat("abandon ", 12))
	c := load(t, "SECP_MNEMONIC="+words, "ORACLE_DID=did:ixo:entity:abc", "NODE_ENV=test", "HEARTH_ENV=staging", "ZM_SERVICE_CODES=*2233#")
	if got := c.Oracle.Mnemonic.Reveal(); got != words {
		t.Errorf("mnemonic = %q", got)
	}
	if got := c.Server.Environment; got != "staging" {
		t.Errorf("environment = %q, want staging: HEARTH_ENV wins over NODE_ENV", got)
	}
	if got := c.USSD.ServiceCodes; !slices.Equal(got, []string{"*2233#"}) {
		t.Errorf("service codes = %q", got)
	}
}

func TestSecretFromFile(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 31) + "!"
	f := files{"/run/owner": key + "\n"}
	c, err := config.Load(config.Input{ReadFile: f.read, Env: []string{"HEARTH_OWNER_KEY_FILE=/run/owner"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Auth.OwnerKey.Reveal(); got != key {
		t.Errorf("owner key = %q, want %q", got, key)
	}
	ps := problems(t, config.Input{ReadFile: f.read, Env: []string{"HEARTH_OWNER_KEY_FILE=/run/none", "LLM_API_KEY=x", "LLM_API_KEY_FILE=/run/owner"}})
	if !has(ps, "HEARTH_OWNER_KEY_FILE", "cannot be read") || !has(ps, "LLM_API_KEY_FILE", "together with LLM_API_KEY") {
		t.Errorf("problems = %v", ps)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	fset := flag.NewFlagSet("serve", flag.ContinueOnError)
	quiet := fset.Bool("quiet", false, "a flag of the command itself")
	given, err := config.Parse(fset, []string{"--port", "4000", "--areas=a,b", "--trust-proxy-enabled", "--quiet", "--data-dir=/srv", "rest"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Input{Flags: given})
	if err != nil {
		t.Fatal(err)
	}
	if c.Server.Port != 4000 || fmt.Sprint(c.Server.Areas) != "[a b]" || !c.Server.TrustProxy || c.Data.Dir != "/srv" || !*quiet {
		t.Errorf("got port %d areas %v proxy %v dir %q quiet %v", c.Server.Port, c.Server.Areas, c.Server.TrustProxy, c.Data.Dir, *quiet)
	}
	if !slices.Equal(fset.Args(), []string{"rest"}) {
		t.Errorf("Args() = %q, want [rest]", fset.Args())
	}
}

// Arguments may stand anywhere between the flags.
func TestFlagsInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, port, rest string }{
		{"one two", "", "one two"},
		{"one --port 1 two", "1", "one two"},
		{"--port=1 one --trust-proxy-enabled two", "1", "one two"},
		{"one -port 1 -- --port 2", "1", "one --port 2"},
		{"- --port 1", "1", "-"},
		{"--port -- one", "--", "one"},
	} {
		fset := flag.NewFlagSet("x", flag.ContinueOnError)
		given, err := config.Parse(fset, strings.Fields(tt.args))
		if err != nil || given["port"] != tt.port || strings.Join(fset.Args(), " ") != tt.rest {
			t.Errorf("Parse(%s) = port %q, rest %q, %v; want %q and %q", tt.args, given["port"], fset.Args(), err, tt.port, tt.rest)
		}
	}
	_, err := config.Parse(flag.NewFlagSet("x", flag.ContinueOnError), []string{"one", "--prot", "5", "--data-dir"})
	var ps config.Problems
	if !errors.As(err, &ps) || !has(ps, "--data-dir", "has no value") || !has(ps, "--prot", "--port?") {
		t.Errorf("Parse without a value: %v, want the flag named, and the unknown one", err)
	}
}

func TestListeners(t *testing.T) {
	t.Parallel()
	apart := []string{"HEARTH_API_ADDR=:4001", "HEARTH_USSD_ADDR=:4002", "HEARTH_ORACLE_ADDR=127.0.0.1:4003"}
	for _, tt := range []struct {
		name  string
		env   []string
		apart bool
		probe string
	}{
		{"merged", nil, false, ":3000"},
		{"host", []string{"HOST=::1", "PORT=4000"}, false, "[::1]:4000"},
		{"one apart", []string{"HEARTH_USSD_ADDR=:4002"}, false, ":3000"},
		{"no listener for the API", []string{"HEARTH_AREAS=c", "HEARTH_USSD_ADDR=:4002"}, false, ":3000"},
		{"all apart", apart, true, ":4001"},
		{"areas that do not run", []string{"HEARTH_AREAS=a", "HEARTH_API_ADDR=:4001"}, true, ":4001"},
		{"the first with a fixed port", append([]string{"HEARTH_ADMIN_ADDR=:9000"}, "HEARTH_API_ADDR=:0", apart[1], apart[2]), true, ":4002"},
		{"the operators' is the only fixed one", []string{"PORT=0", "HEARTH_ADMIN_ADDR=:9000"}, false, ":9000"},
		{"none can be found", []string{"PORT=0"}, false, ":0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := load(t, tt.env...)
			if c.AllApart() != tt.apart || c.ProbeAddr() != tt.probe {
				t.Errorf("AllApart() = %v, ProbeAddr() = %q, want %v and %q", c.AllApart(), c.ProbeAddr(), tt.apart, tt.probe)
			}
		})
	}
}

func TestUnknownFlags(t *testing.T) {
	t.Parallel()
	fset := flag.NewFlagSet("serve", flag.ContinueOnError)
	_, err := config.Parse(fset, []string{"--prot", "4000", "--port", "1", "--data-dri=/x", "--zzzzzzzzzz"})
	var ps config.Problems
	if !errors.As(err, &ps) || len(ps) != 3 {
		t.Fatalf("Parse: %v, want 3 problems", err)
	}
	if !has(ps, "--prot", "did you mean --port?") || !has(ps, "--data-dri", "did you mean --data-dir?") || !has(ps, "--zzzzzzzzzz", "not a flag") {
		t.Errorf("problems = %v", ps)
	}
	fset = flag.NewFlagSet("serve", flag.ContinueOnError)
	if _, err := config.Parse(fset, []string{"--help", "--nonsense"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("Parse(--help) = %v, want flag.ErrHelp", err)
	}
	fset = flag.NewFlagSet("serve", flag.ContinueOnError)
	if _, err := config.Parse(fset, []string{"--port"}); err == nil {
		t.Errorf("Parse(--port) without a value: no error")
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := config.Usage(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Server and listeners\n", "  --port integer  (PORT, default 3000)\n", "--areas", "(HEARTH_AREAS, default a,b,c,d)", "  --metrics-enabled  (METRICS_ENABLED"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("help lacks %q", want)
		}
	}
	for _, s := range config.Settings() {
		if !strings.Contains(b.String(), "--"+s.Flag()) {
			t.Errorf("help lacks --%s", s.Flag())
		}
	}
}
