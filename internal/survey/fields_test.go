package survey_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

type inner struct {
	Size int            `json:"size"`
	Tags []string       `json:"tags,omitzero"`
	More map[string]tag `json:"more"`
}

type tag struct {
	Name string `json:"name"`
}

type embedded struct {
	Deep *inner `json:"deep"`
}

type fieldsRecord struct {
	embedded
	ID        string      `json:"id"`
	At        time.Time   `json:"at"`
	List      []inner     `json:"list"`
	Responses form.Object `json:"responses"`
	Hidden    string      `json:"-"`
}

var of = survey.FieldsOf{Type: reflect.TypeFor[fieldsRecord](), Always: []string{"id"}}

const body = `{"deep":{"size":1,"tags":["a"],"more":{"x":{"name":"n"}}},"id":"i","at":"2026-01-01T00:00:00Z","list":[{"size":1,"more":{}},{"size":2.50,"more":{}}],"responses":{"home":{"size":4}}}`

func TestKeep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ fields, want string }{
		{"", body},
		{"id", `{"id":"i"}`},
		{"deep.size", `{"deep":{"size":1},"id":"i"}`},
		{" deep.size , at", `{"deep":{"size":1},"id":"i","at":"2026-01-01T00:00:00Z"}`},
		{"/deep/more/x/name", `{"deep":{"more":{"x":{"name":"n"}}},"id":"i"}`},
		{"deep.more.y.name", `{"deep":{"more":{}},"id":"i"}`},
		{"deep,deep.size", `{"deep":{"size":1,"tags":["a"],"more":{"x":{"name":"n"}}},"id":"i"}`},
		{"deep.size,deep", `{"deep":{"size":1,"tags":["a"],"more":{"x":{"name":"n"}}},"id":"i"}`},
		{"list.size", `{"id":"i","list":[{"size":1},{"size":2.50}]}`},
		{"responses.home.size", `{"id":"i","responses":{"home":{"size":4}}}`},
		{"responses.home.size.x", `{"id":"i","responses":{"home":{}}}`},
		{"responses.other", `{"id":"i","responses":{}}`},
	} {
		set, err := survey.FieldsQuery{Fields: tt.fields}.Set(of)
		if err != nil {
			t.Errorf("%q: %v", tt.fields, err)
			continue
		}
		one, err := survey.KeepOne[*fieldsRecord](set)(web.Reply[*fieldsRecord]{Raw: []byte(body), ETag: `"7"`}, nil)
		if err != nil || string(one.Raw) != tt.want || one.ETag != `"7"` {
			t.Errorf("%q: %s, %v, want %s", tt.fields, one.Raw, err, tt.want)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	set, err := survey.FieldsQuery{Fields: "deep.size"}.Set(of)
	if err != nil {
		t.Fatal(err)
	}
	page := web.Page[fieldsRecord]{Items: []fieldsRecord{{ID: "i", embedded: embedded{Deep: &inner{Size: 3}}}, {ID: "j"}}, Page: web.PageInfo{Limit: 2, HasMore: true}}
	got, err := survey.KeepPage[fieldsRecord](set)(web.Reply[web.Page[fieldsRecord]]{Value: page, Link: "x"}, nil)
	const want = `{"items":[{"deep":{"size":3},"id":"i"},{"id":"j"}],"page":{"limit":2,"hasMore":true}}`
	if err != nil || string(got.Raw) != want || got.Link != "x" {
		t.Errorf("page = %s, %v, want %s", got.Raw, err, want)
	}
	if got, err = survey.KeepPage[fieldsRecord](survey.FieldSet{})(web.Reply[web.Page[fieldsRecord]]{Value: page}, nil); err != nil || got.Raw != nil {
		t.Errorf("page of all = %s, %v, want it untouched", got.Raw, err)
	}
	broken := fault.New(fault.NotFound, "X", "x")
	if _, err := survey.KeepPage[fieldsRecord](set)(web.Reply[web.Page[fieldsRecord]]{}, broken); fault.CodeOf(err) != "X" {
		t.Errorf("a fault became %v", err)
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ fields, code, detail string }{
		{"nothing", "UNKNOWN_FIELD", `At character 1: There is no field "nothing".`},
		{"id,deep.nothing", "UNKNOWN_FIELD", `At character 4: There is no field "deep.nothing".`},
		{"id.x", "UNKNOWN_FIELD", "id.x"},
		{"at.year", "UNKNOWN_FIELD", "at.year"},
		{"Hidden", "UNKNOWN_FIELD", "Hidden"},
		{"-", "UNKNOWN_FIELD", "-"},
		{"/", "UNKNOWN_FIELD", "/"},
		{"ID", "UNKNOWN_FIELD", "ID"},
		{"id,", "UNKNOWN_FIELD", `""`},
		{"a..b", "UNKNOWN_FIELD", "a..b"},
		{strings.Repeat("id,", 50) + "id", "INVALID_PARAMETER", "At most 50"},
		{"responses." + strings.Repeat("x", 2000), "INVALID_PARAMETER", "2000 bytes"},
	} {
		_, err := survey.FieldsQuery{Fields: tt.fields}.Set(of)
		if fault.CodeOf(err) != tt.code || !strings.Contains(surveytest.Details(err), tt.detail) || fault.As(err).Fields[0].Pointer != "query/fields" {
			t.Errorf("%.30q: %v (%s), want %s with %s", tt.fields, err, surveytest.Details(err), tt.code, tt.detail)
		}
	}
}
