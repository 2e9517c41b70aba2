package export_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/survey/export"
)

type feature struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	Geometry *struct {
		Type        string     `json:"type"`
		Coordinates [2]float64 `json:"coordinates"`
	} `json:"geometry"`
	Properties map[string]any `json:"properties"`
}

// features reads a file of GeoJSON.
func features(t testing.TB, b []byte) []feature {
	t.Helper()
	var all struct {
		Type     string    `json:"type"`
		Features []feature `json:"features"`
	}
	if err := json.Unmarshal(b, &all, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if all.Type != "FeatureCollection" {
		t.Errorf("type = %q", all.Type)
	}
	for _, f := range all.Features {
		if f.Type != "Feature" || f.Geometry != nil && f.Geometry.Type != "Point" {
			t.Errorf("feature = %+v", f)
		}
	}
	return all.Features
}

// TestMap puts responses where they were given, or where their first answer
// says, no finer than the level allows.
func TestMap(t *testing.T) {
	t.Parallel()
	f := compile(t, document)
	write := func(level export.Level, answers string) []feature {
		r := answeredBy(t, f, answers, level)
		return features(t, fileOf(t, f, export.LayoutConfig{Level: level, Shape: export.Wide}, export.GeoJSON, r, r))
	}
	tests := []struct {
		name    string
		level   export.Level
		answers string
		want    *[2]float64
	}{
		{"the interview", export.Full, answered, &[2]float64{36.5, -1.25}},
		{"an answer, rounded", export.None, answered, &[2]float64{36.8, -1.3}},
		{"not where people live", export.Pseudonymised, `{"a":{"home":{"lat":1.5,"lon":2.5}}}`, nil},
		{"nowhere", export.None, `{"z":{"size":5}}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			all := write(test.level, test.answers)
			if len(all) != 2 {
				t.Fatalf("%d features, want 2", len(all))
			}
			var got *[2]float64
			if g := all[1].Geometry; g != nil {
				got = &g.Coordinates
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("coordinates (-want +got):\n%s", diff)
			}
		})
	}
	got := write(export.None, answered)[0]
	if got.ID != "rec~7" || got.Properties["z.size"] != 5.0 || got.Properties["a.g.day"] != "2026-01-31" || got.Properties["a.fuels/wood"] != 1.0 || got.Properties["a.g.yes"] != true {
		t.Errorf("feature = %+v", got)
	}
}
