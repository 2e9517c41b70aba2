package search_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "list.json", d, v.l, v.h)
	})
}

// listPage is a page as clients see it.
type listPage struct {
	Items []struct {
		DID string `json:"did"`
	} `json:"items"`
	Page struct {
		NextCursor string `json:"nextCursor"`
		HasMore    bool   `json:"hasMore"`
	} `json:"page"`
}

// A list is rendered from stored bytes; it is the same as if it were encoded.
func TestItemsAreTheStoredBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.SQLite(t), 60)
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/entities?limit=1000", nil)
	r.Header.Set("Authorization", "Bearer ws owner")
	a := httptest.NewRecorder()
	w.h.ServeHTTP(a, r)
	f, err := w.s.List(ctx(t, "ws"), w.d, entity.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	want := []byte(`{"items":[` + string(bytes.Join(f.Bodies(), []byte(","))) + `],"page":{"limit":1000,"hasMore":false}}`)
	if !bytes.Equal(a.Body.Bytes(), want) {
		t.Errorf("list = %.300s…, want %.300s…", a.Body, want)
	}
	var page listPage
	if err := json.Unmarshal(a.Body.Bytes(), &page); err != nil || len(page.Items) != 63 {
		t.Errorf("%d items, %v, want 63", len(page.Items), err)
	}
}

// What a restricted key gets as a cursor tells nothing of twins it may not
// see, however the list is sorted.
func TestCursorsOfRestrictedKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		c := ctx(t, "ws")
		v.store(t, c, entity.Draft{DID: "did:ixo:entity:1", Type: "Project", Protocol: project})
		var drafts []entity.Draft
		for i := range 120 {
			draft := entity.Draft{Type: "Stove", Protocol: cooking, Properties: object(t, map[string]any{"serial": fmt.Sprint("SECRET", i)})}
			if i%40 == 0 {
				draft.Properties = object(t, map[string]any{"serial": fmt.Sprint("MINE", i)})
				draft.Relationships = []entity.RelationDraft{{Role: "project", Target: "did:ixo:entity:1"}}
			}
			drafts = append(drafts, draft)
		}
		v.store(t, c, drafts...)
		v.s.SetBudget(25, 25)
		for _, sort := range []string{"", "updated", "-updated", "properties.serial", "-properties.serial"} {
			found, pages, cursor := 0, 0, ""
			for range 60 {
				pages++
				path := "/v1/entities?type=Stove&protocol=" + url.QueryEscape(cooking) + "&sort=" + sort + "&cursor=" + cursor
				r := httptest.NewRequestWithContext(t.Context(), "GET", strings.TrimSuffix(path, "&cursor="), nil)
				r.Header.Set("Authorization", "Bearer ws project")
				a := httptest.NewRecorder()
				v.h.ServeHTTP(a, r)
				var page listPage
				if err := json.Unmarshal(a.Body.Bytes(), &page); err != nil || a.Code != 200 {
					t.Fatalf("%s: %d %s, %v", path, a.Code, a.Body, err)
				}
				raw, err := base64.RawURLEncoding.DecodeString(page.Page.NextCursor)
				if text := a.Body.String() + string(raw); err != nil || strings.Contains(text, "SECRET") || bytes.Contains(raw, []byte(`"n":7`)) {
					t.Errorf("sort %s tells a secret: %s %q, %v", sort, a.Body, raw, err)
				}
				found += len(page.Items)
				if cursor = page.Page.NextCursor; !page.Page.HasMore {
					break
				}
			}
			if found != 3 || sort == "" && pages != 1 {
				t.Errorf("sort %s: %d twins on %d pages, want 3, and one page in the order of creation: others must not show", sort, found, pages)
			}
		}
	})
}

// Records of the largest size make short pages, not large answers.
func TestLargeRecords(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	c := ctx(t, "ws")
	var drafts []entity.Draft
	for range 60 {
		drafts = append(drafts, entity.Draft{Type: "Big", Protocol: template, Properties: object(t, map[string]any{"measurements": map[string]any{"text": strings.Repeat("x", 200_000)}})})
	}
	v.store(t, c, drafts...)
	for _, q := range []entity.Query{{Limit: 1000}, {Limit: 1000, Type: "Big"}, {Limit: 1000, Filter: "like(properties.measurements.text,x*)"}} {
		f, err := v.s.List(c, v.d, q)
		if err != nil || len(f.Rows) == 0 || len(f.Rows) > 42 || f.Next == nil {
			t.Errorf("%+v: %d twins, next %v, %v; want less than 9 MB and more to come", q, len(f.Rows), f.Next, err)
		}
		if ids, _ := v.walk(t, c, q); len(ids) != 60 {
			t.Errorf("%+v: %d twins in all, want 60", q, len(ids))
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	const body = `{"did":"d","type":"T","properties":{"a":1.50,"b":{"c":[1,{"d":2,"e":3}],"f":"x"},"g\"h":4},"services":[{"id":"#a","type":"X"},{"id":"#b"}],"metadata":{},"externalIds":{"s":"1"}}`
	for fields, want := range map[string]string{
		"":                            body,
		"type":                        `{"did":"d","type":"T"}`,
		"did":                         `{"did":"d"}`,
		" type , did ":                `{"did":"d","type":"T"}`,
		"properties":                  `{"did":"d","properties":{"a":1.50,"b":{"c":[1,{"d":2,"e":3}],"f":"x"},"g\"h":4}}`,
		"properties.a":                `{"did":"d","properties":{"a":1.50}}`,
		"properties.a,properties":     `{"did":"d","properties":{"a":1.50,"b":{"c":[1,{"d":2,"e":3}],"f":"x"},"g\"h":4}}`,
		"properties.b.f,properties.a": `{"did":"d","properties":{"a":1.50,"b":{"f":"x"}}}`,
		"properties.b.c.d":            `{"did":"d","properties":{"b":{"c":[null,{"d":2}]}}}`,
		"/properties/g\"h":            `{"did":"d","properties":{"g\"h":4}}`,
		"properties.a.x":              `{"did":"d","properties":{}}`,
		"properties.none":             `{"did":"d","properties":{}}`,
		"services.id":                 `{"did":"d","services":[{"id":"#a"},{"id":"#b"}]}`,
		"metadata.x,externalIds.s":    `{"did":"d","metadata":{},"externalIds":{"s":"1"}}`,
		"status":                      `{"did":"d"}`,
	} {
		got, err := search.Fields([]byte(body), fields)
		if err != nil || string(got) != want {
			t.Errorf("Fields(%s) = %s, %v, want %s", fields, got, err, want)
		}
	}
	for _, fields := range []string{"colour", "type.x", "did,,type", ".", "services.0", "services.colour", "Type", "verification.status.x", "/", strings.Repeat("a.", 20) + "b"} {
		if _, err := search.Fields([]byte(body), fields); fault.CodeOf(err) != "UNKNOWN_FIELD" {
			t.Errorf("Fields(%s) = %v, want UNKNOWN_FIELD", fields, err)
		}
	}
	if _, err := search.Fields([]byte(body), strings.Repeat("did,", 51)); fault.CodeOf(err) != "INVALID_PARAMETER" {
		t.Errorf("51 fields: %v, want INVALID_PARAMETER", err)
	}
}

// A list and a single read know the same fields.
func TestFieldsOfOne(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.store(t, ctx(t, "ws"), entity.Draft{Type: "Stove", Protocol: cooking, Properties: object(t, map[string]any{"serial": "S1"})})[0].DID
		for fields, status := range map[string]int{"properties.serial": 200, "properties.zzz": 400, "zzz": 400, "properties.serial.x": 400, "metadata.zzz": 200} {
			for _, path := range []string{"/v1/entities/" + id, "/v1/entities"} {
				var got struct {
					Code string `json:"code"`
				}
				v.send(t, call{method: "GET", path: path + "?fields=" + fields, ws: "ws", want: status}, &got)
				if status == 400 && got.Code != "UNKNOWN_FIELD" {
					t.Errorf("%s?fields=%s: %s, want UNKNOWN_FIELD", path, fields, got.Code)
				}
			}
		}
	})
}

// Whatever is in a record, reading parts of it gives what decoding all of it
// gives, and what is kept is JSON.
func FuzzFields(f *testing.F) {
	for _, s := range []string{
		`{"did":"d","properties":{"a":[1,2,{"b":"\\\""}],"c":"}\"{"},"metadata":{"x":null}}`, `{ "did" : "d" , "properties" : { "a" : [ ] } }`, `{}`, `[]`, `{"did":"`, `{"a":{"b":[`, `x`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var doc map[string]any
		valid := json.Unmarshal(body, &doc) == nil && doc != nil
		got, err := search.Fields(body, "type,properties.a,metadata.x.y")
		if err != nil || !valid {
			return
		}
		var kept map[string]any
		if err := json.Unmarshal(got, &kept); err != nil {
			t.Fatalf("Fields(%s) = %s: %v", body, got, err)
		}
		if fmt.Sprint(kept["did"]) != fmt.Sprint(doc["did"]) || fmt.Sprint(kept["type"]) != fmt.Sprint(doc["type"]) {
			t.Fatalf("Fields(%s) = %s", body, got)
		}
		was, _ := doc["properties"].(map[string]any)
		now, _ := kept["properties"].(map[string]any)
		if fmt.Sprint(was["a"]) != fmt.Sprint(now["a"]) {
			t.Fatalf("Fields(%s) = %s", body, got)
		}
	})
}
