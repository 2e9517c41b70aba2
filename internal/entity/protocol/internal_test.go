package protocol

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ have, want string }{
		{"", ""},
		{"1.0.0 draft", "1.0.0"},
		{"1.0.0 published,2.0.0 draft", "1.0.0"},
		{"1.0.0 published,2.0.0 published", "2.0.0"},
		{"1.0.0 published,2.0.0 deprecated", "1.0.0"},
		{"1.0.0 deprecated,2.0.0 draft", "1.0.0"},
		{"1.0.0 retired,2.0.0 draft", "2.0.0"},
		{"1.0.0 retired,2.0.0 retired", "2.0.0"},
		{"1.0.0 published,2.0.0-beta published", "1.0.0"},
		{"1.0.0 retired,2.0.0-beta published", "2.0.0-beta"},
		{"1.10.0 published,1.9.0 published", "1.10.0"},
	} {
		var steps []step
		for one := range strings.SplitSeq(c.have, ",") {
			if version, status, ok := strings.Cut(one, " "); ok {
				steps = append(steps, step{version, Status(status)})
			}
		}
		for range 2 {
			if got, _ := choose(steps); got.version != c.want {
				t.Errorf("choose(%s) = %q, want %q", c.have, got.version, c.want)
			}
			slices.Reverse(steps)
		}
	}
}

// Every shipped protocol takes what its names promise.
func TestShipped(t *testing.T) {
	t.Parallel()
	l := loadShipped()
	for id, c := range map[string]struct {
		class, domain, twin, indexed string
	}{
		"template":          {"physical", "device", `{"metricOne":"value","metricTwo":42}`, "[]"},
		"clean-cooking":     {"physical", "device", `{"fuel_type":"ethanol","efficiency":38.5,"serial":"SN1","model":"X","manufacturer":"M","installedAt":"2026-08-01","power":{"value":1.8,"unit":"kW"}}`, "[{model text} {serial text}]"},
		"household":         {"physical", "household", `{"name":"N","phone":"+254700","location":{"district":"D"},"baseline":{"fuelType":"charcoal"},"size":5,"consent":true,"district":"D","fuelType":"charcoal"}`, "[{district text} {fuelType text}]"},
		"person":            {"physical", "person", `{"name":"N","phone":"+254700","email":"n@example.org"}`, "[]"},
		"organisation":      {"cognitive", "organisation", `{"name":"N","country":"KE","website":"https://example.org"}`, "[{name text}]"},
		"group":             {"cognitive", "group", `{"name":"members","scopes":["entities:read"]}`, "[]"},
		"project":           {"cognitive", "project", `{"name":"N","methodology":"TPDDTEC","country":"KE","startDate":"2026-01-01","endDate":"2030-12-31"}`, "[{name text}]"},
		"asset":             {"physical", "asset", `{"name":"N","serial":"1","model":"M"}`, "[{model text} {serial text}]"},
		"claim":             {"cognitive", "claim", `{"name":"N","kind":"fuel-saved","amount":{"value":12,"unit":"kg"},"periodStart":"2026-01-01","periodEnd":"2026-03-31","evidence":["ipfs://bafy"],"data":{"a":1}}`, "[{kind text}]"},
		"credential":        {"cognitive", "credential", `{"name":"N","kind":"fuel-saved","issuer":"did:x:1","subject":"did:x:2","amount":{"value":12,"unit":"kg"},"issuedAt":"2026-04-02","expiresAt":"2030-01-01"}`, "[{kind text} {subject text}]"},
		"oracle":            {"oracle", "oracle", `{"name":"N","model":"m","capabilities":["verify"]}`, "[]"},
		"network":           {"system", "system", `{"name":"N"}`, "[]"},
		"stove-use-monitor": {"physical", "device", `{"serial":"1","samplingRate":300,"temperatureThreshold":60,"minimumDuration":1800,"transmissionMode":"batch","battery":80,"signal":-70,"calibration":{}}`, "[{serial text}]"},
	} {
		p := l.find("did:ixo:protocol/"+id, "1.0.0")
		if p == nil {
			t.Errorf("%s is not there", id)
			continue
		}
		if p.Class() != c.class || p.DomainType() != c.domain || p.Status != StatusPublished || !p.Shipped || p.Version != "1.0.0" {
			t.Errorf("%s: class %s, domain type %s, %s %s", id, p.Class(), p.DomainType(), p.Version, p.Status)
		}
		if got := fmt.Sprint(p.Indexed()); got != c.indexed {
			t.Errorf("%s: Indexed = %s, want %s", id, got, c.indexed)
		}
		var twin map[string]any
		if err := json.Unmarshal([]byte(c.twin), &twin); err != nil {
			t.Fatal(err)
		}
		if got := p.Check(twin); got != nil {
			t.Errorf("%s: %v", id, got)
		}
	}
	for id, all := range l.byDID {
		for _, p := range all {
			var wrong fault.Checks
			if p.Content.sense(&wrong); wrong.Err("", "") != nil {
				t.Errorf("%s %s: %+v", id, p.Version, fault.As(wrong.Err("PROTOCOL_INVALID", "")).Fields)
			}
		}
	}
	if len(l.list) != 13 {
		t.Errorf("%d shipped protocols, want 13", len(l.list))
	}
	if l.find("did:ixo:protocol/template", "1.0.1") != nil {
		t.Error("a version that does not exist is found")
	}
	if got := l.find("did:ixo:protocol/household", "").PII(); fmt.Sprint(got) != "[location name phone]" {
		t.Errorf("personal data of a household = %v", got)
	}
}

func TestSenseVerification(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`: "", `7`: " wrong_type",
		`{"mode":"manual","quorum":2,"oracles":["did:x:a","did:x:b"],"reasonCodes":["weighed"],"facts":[],"rubric":[]}`: "",
		`{"mode":"auto"}`: "/rubric required/oracles required", `{"mode":"hybrid"}`: "/rubric required/oracles required", `{"mode":"quick"}`: "/mode not_allowed",
		`{"mode":"auto","oracles":["did:x:o"],"rubric":[{"id":"a","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"OK"}}]}`: "", `{"mode":7}`: "/mode not_allowed", `{"mode":null}`: "",
		`{"quorum":0}`: "/quorum out_of_range", `{"quorum":101}`: "/quorum out_of_range", `{"quorum":100}`: "",
		`{"quorum":2,"oracles":["did:x:a"]}`: "/quorum out_of_range", `{"oracles":[]}`: "/oracles empty", `{"oracles":{}}`: "/oracles wrong_type",
		`{"oracles":["did:x:a",7]}`: "/oracles/1 invalid", `{"oracles":["did:x:a","did:x:a"]}`: "/oracles/1 duplicate",
		`{"reasonCodes":[]}`: "/reasonCodes wrong_type", `{"reasonCodes":["a","b\nc"]}`: "/reasonCodes/1 not_one_line", `{"reasonCodes":[" "]}`: "/reasonCodes/0 required",
	} {
		var c fault.Checks
		senseVerification(jsontext.Value(text), "", &c)
		got := ""
		if f := fault.As(c.Err("X", "x")); f != nil {
			for _, field := range f.Fields {
				got += field.Pointer + " " + field.Code
			}
		}
		if got != want {
			t.Errorf("%s = %q, want %q", text, got, want)
		}
	}
}
