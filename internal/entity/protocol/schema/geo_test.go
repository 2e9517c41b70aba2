package schema

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// A place that is none is refused with what is wrong with it.
func TestWhatIsWrongWithAPlace(t *testing.T) {
	t.Parallel()
	s, wrong := build(t, `{"place":"geo"}`)
	if wrong != nil {
		t.Fatal(wrong)
	}
	for text, want := range map[string]wrongGeo{
		`{"type":"Point","coordinates":[36.8,-1.28,1700]}`:                                               "",
		`{"type":"Point","coordinates":[36.8,-91]}`:                                                      wrongPosition,
		`{"type":"Point","coordinates":[181,0]}`:                                                         wrongPosition,
		`{"type":"Point","coordinates":["36.8","1"]}`:                                                    wrongPosition,
		`{"type":"Point"}`:                                                                               wrongPosition,
		`{"type":"MultiPoint","coordinates":{}}`:                                                         wrongArray,
		`{"type":"LineString","coordinates":[[0,0]]}`:                                                    wrongLine,
		`{"type":"MultiLineString","coordinates":[[[0,0],[0,95]]]}`:                                      wrongPosition,
		`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}`:                                   wrongRing,
		`{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}`:                                         wrongRing,
		`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`:                                   "",
		`{"type":"MultiPolygon","coordinates":[[0]]}`:                                                    wrongArray,
		`{"type":"Feature","geometry":null}`:                                                             wrongFeature,
		`{"type":"Feature","geometry":7,"properties":{}}`:                                                wrongFeature,
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[0,91]},"properties":{}}`:            wrongPosition,
		`{"type":"FeatureCollection","features":[{"type":"Point","coordinates":[0,0]}]}`:                 wrongFeatures,
		`{"type":"GeometryCollection","geometries":[7]}`:                                                 wrongNesting,
		`{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[0,0],[0,1]]}]}`: "",
		strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 5) + strings.Repeat(`]}`, 5):       wrongNesting,
		`{"type":"Circle"}`: wrongType,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		fields := s.Check(map[string]any{"place": v})
		got := ""
		for _, f := range fields {
			got += f.Pointer + " " + f.Code + " " + f.Detail
		}
		said := ""
		if want != "" {
			said = "/properties/place invalid_format The value must be a GeoJSON object: " + string(want) + "."
		}
		if got != said {
			t.Errorf("%s: %q, want %q", text, got, said)
		}
	}
}
