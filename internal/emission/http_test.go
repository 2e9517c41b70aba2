package emission_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/emission"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// gate lets in who says its scope.
type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	c := web.Caller{Workspace: "ws", DID: "did:key:a", Scopes: []string{r.Header.Get("Authorization")}}
	if !scope.Open(c.May) {
		return c, fault.New(fault.Forbidden, "SCOPE_MISSING", "The scope "+string(scope)+" is missing.")
	}
	return c, nil
}

func ask(t *testing.T, scope, method, path string, body any) *httptest.ResponseRecorder {
	t.Helper()
	a := web.NewAPI(web.APIConfig{Name: "test", Gate: gate{}, Errors: web.Problem})
	emission.New(eventtest.Cursors()).Routes(a)
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(string(text)))
	r.Header.Set("Authorization", scope)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	webtest.Handler(t, a).ServeHTTP(w, r)
	return w
}

// Whoever has the answer computes its hashes again.
func TestCalculate(t *testing.T) {
	t.Parallel()
	w := ask(t, "analytics:read", "POST", "/v1/emissions:calculate", emission.Example())
	var out api.EmissionCalculation
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	if math.Abs(out.Result.Reductions-396.33198398) > 1e-8 || len(out.Steps) < 30 {
		t.Errorf("the example comes to %v in %d steps", out.Result.Reductions, len(out.Steps))
	}
	var all map[string]jsontext.Value
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "traceHash")
	trace, err := check.Hash(all)
	if err != nil || trace != out.TraceHash {
		t.Errorf("trace %s, want %s, %v", out.TraceHash, trace, err)
	}
	input, err := check.Hash(all["asked"])
	if err != nil || input != out.InputHash {
		t.Errorf("input %s, want %s, %v", out.InputHash, input, err)
	}
	// {} of a published vector.
	if got, err := check.Hash(struct{}{}); err != nil || got != "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" {
		t.Errorf("hash of {} = %s, %v", got, err)
	}
	d := emission.Example()
	d.Version = ""
	again, err := emission.Calculate(d)
	if err != nil || again.TraceHash != out.TraceHash {
		t.Errorf("the newest version: %v, %+v", err, again)
	}
	v := 0.91
	d.Inputs["baselineUsage"] = api.EmissionInput{EmissionMember: api.EmissionMember{Value: &v}}
	if other, err := emission.Calculate(d); err != nil || other.TraceHash == out.TraceHash || other.InputHash == out.InputHash {
		t.Errorf("another input has the same hashes: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, scope, path string
		body              any
		status            int
		want              string
	}{
		{"no scope", "entities:read", "/v1/emissions:calculate", emission.Example(), 403, "SCOPE_MISSING"},
		{"no module", "analytics:read", "/v1/emissions:calculate", map[string]any{}, 400, "EMISSION_MODULE_UNKNOWN"},
		{"no inputs", "analytics:read", "/v1/emissions:calculate", map[string]any{"module": "fuel-factor"}, 400, `"/inputs/quantity"`},
		{"a text for a number", "analytics:read", "/v1/emissions:calculate", map[string]any{"module": "fuel-factor", "inputs": map[string]any{"quantity": map[string]any{"value": "30"}}}, 400, `/inputs/quantity/value`},
	} {
		if w := ask(t, tt.scope, "POST", tt.path, tt.body); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %d %s, want %d and %s", tt.name, w.Code, w.Body, tt.status, tt.want)
		}
	}
}

// Modules are a list like any other.
func TestModules(t *testing.T) {
	t.Parallel()
	var got []string
	path := "/v1/emissions/modules?limit=2"
	for range 10 {
		w := ask(t, "analytics:read", "GET", path, nil)
		var page api.Page[api.EmissionModule]
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
			t.Fatalf("%d %s, %v", w.Code, w.Body, err)
		}
		for _, m := range page.Items {
			got = append(got, m.Module+" "+m.Version)
		}
		if !page.Page.HasMore {
			break
		}
		path = "/v1/emissions/modules?limit=2&cursor=" + page.Page.NextCursor
	}
	if want := []string{"gs-smec 4.0", "gs-mecd-m2 2.0", "fuel-factor 1.0", "household-use 1.0"}; !slices.Equal(got, want) {
		t.Errorf("modules %q, want %q", got, want)
	}
	if w := ask(t, "entities:read", "GET", "/v1/emissions/modules", nil); w.Code != 403 {
		t.Errorf("without the scope: %d", w.Code)
	}
}
