package e2e

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/test/server"
)

// members are the documented fields of / and /health. The merged listener has
// those of areas C and D together.
var members = map[string]map[string][]string{
	"/": {
		"hearth": {"environment", "message", "status", "timestamp", "version"},
		"api":    {"environment", "message", "status", "timestamp", "version"},
		"admin":  {"environment", "message", "status", "timestamp", "version"},
		"ussd":   {"environment", "message", "status", "timestamp"},
		"oracle": {"message", "status", "timestamp"},
	},
	"/health": {
		"hearth": {"database", "environment", "status", "timestamp", "uptime"},
		"api":    {"database", "environment", "status", "timestamp", "uptime"},
		"admin":  {"database", "environment", "status", "timestamp", "uptime"},
		"ussd":   {"database", "environment", "status", "timestamp", "uptime"},
		"oracle": {"status", "timestamp"},
	},
}

func TestMergedListener(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{Env: []string{"HEARTH_ENV=staging"}})
	checkSystem(t, "hearth", s.URL)
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/metrics": 200, "/docs": 200, "/docs-json": 200, "/docs-yaml": 200, "/v1/openapi.json": 200, "/v1/api-keys": 401} {
		if got := status(t, s.URL+path); got != want {
			t.Errorf("GET %s = %d, want %d", path, got, want)
		}
	}
	h, err := owner(t, s).Health(t.Context())
	if err != nil || h.Environment != "staging" || h.Status != "ok" || h.Database != "connected" {
		t.Errorf("health = %+v, %v; want ok, staging, connected", h, err)
	}
	r, err := owner(t, s).Ready(t.Context())
	if err != nil || !r.Ready() || r.Durability == "" || r.Checks["store"] != "ok" || r.Checks["schema"] != "ok" || r.Checks["keys"] != "ok" {
		t.Errorf("readiness = %+v, %v; want ready, with the durability named", r, err)
	}
}

func TestOneListenerPerArea(t *testing.T) {
	t.Parallel()
	const any0 = "127.0.0.1:0"
	p := launch(t, "HEARTH_DATA_DIR="+t.TempDir(), "HEARTH_OWNER_KEY="+server.OwnerKey, "HEARTH_ENV=staging", "PORT=1",
		"HEARTH_API_ADDR="+any0, "HEARTH_USSD_ADDR="+any0, "HEARTH_ORACLE_ADDR="+any0, "HEARTH_ADMIN_ADDR="+any0)
	if got := p.address("hearth"); got != "" {
		t.Errorf("a merged listener at %s, want none: every area has its own", got)
	}
	base := map[string]string{}
	for _, name := range []string{"api", "ussd", "oracle", "admin"} {
		base[name] = p.address(name)
		if base[name] == "" {
			t.Fatalf("no address of %s in\n%s", name, p.out)
		}
		checkSystem(t, name, base[name])
	}
	if !strings.HasSuffix(strings.TrimSpace(p.out.String()), "listening on :"+base["oracle"][strings.LastIndex(base["oracle"], ":")+1:]) {
		t.Errorf("last line of\n%s\nwant the port of the oracle", p.out)
	}
	for _, tt := range []struct {
		path string
		want map[string]int
	}{
		{"/metrics", map[string]int{"admin": 200, "api": 404, "ussd": 404, "oracle": 404}},
		{"/v1/api-keys", map[string]int{"api": 401, "ussd": 404, "oracle": 404, "admin": 404}},
		{"/docs", map[string]int{"api": 200, "oracle": 200, "ussd": 404}},
		{"/livez", map[string]int{"api": 200, "oracle": 200, "ussd": 200, "admin": 200}},
		{"/readyz", map[string]int{"api": 200, "oracle": 200, "ussd": 200, "admin": 200}},
	} {
		for name, want := range tt.want {
			if got := status(t, base[name]+tt.path); got != want {
				t.Errorf("GET %s on the listener of %s = %d, want %d", tt.path, name, got, want)
			}
		}
	}
	if code := p.stop(t); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
}

// TestOneAreaApart gives one area its own listener and leaves the rest.
func TestOneAreaApart(t *testing.T) {
	t.Parallel()
	p := launch(t, "HEARTH_DATA_DIR="+t.TempDir(), "PORT=0", "HOST=127.0.0.1", "HEARTH_USSD_ADDR=127.0.0.1:0")
	checkSystem(t, "hearth", p.address("hearth"))
	checkSystem(t, "ussd", p.address("ussd"))
	if got := status(t, p.address("hearth")+"/v1/api-keys"); got != 401 {
		t.Errorf("GET /v1/api-keys = %d, want 401", got)
	}
}

// checkSystem looks at / and /health of a listener.
func checkSystem(t *testing.T, name, base string) {
	t.Helper()
	for path, byName := range members {
		res, body := fetch(t, base+path)
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil || res.StatusCode != 200 {
			t.Errorf("%s GET %s = %d %s: %v", name, path, res.StatusCode, body, err)
			continue
		}
		if diff := cmp.Diff(byName[name], slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("%s GET %s, members (-want +got):\n%s", name, path, diff)
		}
		at, err := time.Parse("2006-01-02T15:04:05.000Z", got["timestamp"].(string))
		if err != nil || time.Since(at).Abs() > time.Minute {
			t.Errorf("%s GET %s, timestamp = %v, want now in ISO 8601", name, path, got["timestamp"])
		}
		if got["status"] != "ok" {
			t.Errorf("%s GET %s, status = %v, want ok", name, path, got["status"])
		}
		if up, given := got["uptime"]; given && !(up.(float64) >= 0 && up.(float64) < 600) {
			t.Errorf("%s GET %s, uptime = %v, want seconds since the start", name, path, up)
		}
	}
}

// fetch reads an address without a key.
func fetch(t *testing.T, url string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, body
}

func status(t *testing.T, url string) int {
	t.Helper()
	res, _ := fetch(t, url)
	return res.StatusCode
}
