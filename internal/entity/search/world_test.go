package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

const (
	cooking   = "did:ixo:protocol/clean-cooking"
	household = "did:ixo:protocol/household"
	project   = "did:ixo:protocol/project"
	network   = "did:ixo:protocol/network"
	template  = "did:ixo:protocol/template"
)

// long texts share the 120 bytes that are indexed, and end in the middle of a
// character there.
var long = []string{
	strings.Repeat("x", 118) + "äää1", strings.Repeat("x", 118) + "äää2", strings.Repeat("x", 118) + "zz", strings.Repeat("x", 119) + "語", strings.Repeat("x", 119) + "z9",
	strings.Repeat("語", 45), strings.Repeat("語", 45) + "a", strings.Repeat("x", 99) + "é" + strings.Repeat("y", 40),
}

// values the twins of a world have.
var (
	serials = append([]string{"a", "ab", "abc", "b", "", "SN 1", "Ünï", "z\U0010ffff", "0042", "42"}, long...)
	powers  = []any{-5.0, 0.0, 0.5, 42.0, 1e9}
	moments = []any{"2026-01-01T00:00:00Z", "2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00.0004Z", "2026-06-01T12:00:00.5Z", "1969-12-31T23:59:59Z", "2026-01-01T05:00:00+09:00"}
	types   = []string{"Device", "Stove", "device"}
)

// world is a workspace full of twins of all kinds.
type world struct {
	*env
	ws           string
	meter, gauge string // protocols
	projects     []string
	ids          []string
}

func newWorld(t *testing.T, d *db.DB, n int) *world {
	t.Helper()
	w := &world{env: newEnv(t, d), ws: "ws"}
	w.meter = w.publish(t, w.ws, `{"type":"Protocol","name":"meter","relationships":{"project":{"class":"ProjectEntity","min":0}},"properties":{
		"serial":{"type":"string","indexed":true},"power":{"type":"number","indexed":true},"on":{"type":"boolean","indexed":true},
		"seen":{"type":"string","format":"date-time","indexed":true},"due":{"type":"string","format":"date-time","indexed":true},"note":"string","tags":"array","site":"object","location":"geo"}}`)
	w.gauge = w.publish(t, w.ws, `{"type":"Protocol","name":"gauge","relationships":{"project":{"class":"ProjectEntity","min":0}},"properties":{
		"serial":{"type":"string","indexed":true},"power":{"type":"string","indexed":true},"due":"string","note":{"type":"string","indexed":true},"location":"object"}}`)
	c := ctx(t, w.ws)
	for i := range 3 {
		r := w.store(t, c, entity.Draft{Type: "Project", Protocol: project, Properties: object(t, map[string]any{"name": fmt.Sprint("project ", i)})})
		w.projects = append(w.projects, r[0].DID)
	}
	var drafts []entity.Draft
	for i := range n {
		drafts = append(drafts, w.draft(t, i))
	}
	for _, r := range w.store(t, c, drafts...) {
		w.ids = append(w.ids, r.DID)
	}
	w.change(t)
	return w
}

// draft is the i-th twin. The strides have no common factor, so that values
// come in all combinations.
func (w *world) draft(t *testing.T, i int) entity.Draft {
	t.Helper()
	p := map[string]any{}
	d := entity.Draft{Type: types[i%len(types)], ExternalIDs: map[string]string{"sap": fmt.Sprint("X", i)}}
	if i%13 == 0 {
		d.ExternalIDs = map[string]string{"sap": fmt.Sprint("X", i), fmt.Sprint("old", i): "shared"}
	}
	d.Metadata = object(t, map[string]any{"name": fmt.Sprint("name ", i%7), "location": map[string]any{"lat": i % 80, "lon": i % 170}, "n": i % 4})
	set := func(name string, stride int, v any) {
		if i%stride != 0 {
			p[name] = v
		}
	}
	switch i % 5 {
	case 0, 1:
		d.Protocol = w.meter
		set("serial", 11, serials[i/5%len(serials)])
		set("power", 7, powers[i/3%len(powers)])
		set("on", 9, i%2 == 0)
		set("seen", 8, moments[i/7%len(moments)])
		set("note", 3, serials[i/2%len(serials)])
		set("tags", 4, []any{"red", i % 3, nil})
		set("location", 6, map[string]any{"type": "Point", "coordinates": []any{i % 30, i % 20}})
	case 2:
		d.Protocol = w.gauge
		set("serial", 11, serials[i/5%len(serials)])
		set("power", 7, fmt.Sprint(powers[i/3%len(powers)]))
		set("note", 5, serials[i/3%len(serials)])
	case 3:
		d.Protocol = household
		set("district", 4, []string{"Kitui", "Nairobi"}[i%2])
		set("size", 3, i%6)
	default:
		d.Protocol = network
	}
	d.Properties = object(t, p)
	if i%3 == 0 && i%5 < 3 {
		d.Relationships = []entity.RelationDraft{{Role: "project", Target: w.projects[i%len(w.projects)]}}
	}
	return d
}

// change gives some twins other statuses and values, so that indexes have
// something to forget.
func (w *world) change(t *testing.T) {
	t.Helper()
	c := ctx(t, w.ws)
	for i, id := range w.ids {
		err := w.d.InTx(c, func(tx *db.Tx) (err error) {
			switch {
			case i%10 == 1:
				_, err = w.e.TransitionTx(c, tx, id, "", entity.Transition{To: entity.StatusSuspended})
			case i%17 == 2:
				_, err = w.e.TransitionTx(c, tx, id, "", entity.Transition{To: entity.StatusDeactivated})
			case i%15 == 5:
				_, err = w.e.PatchTx(c, tx, id, `"1"`, entity.Change{Merge: []byte(`{"properties":{"serial":"changed","power":null}}`)})
			}
			return err
		})
		if err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
}
