package app_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/app"
)

// The oracle reads what is around a twin and changes it with the rights of the user,
// once they have given their word, and not when the twin is another one by then.
func TestOracleChangesATwin(t *testing.T) {
	t.Parallel()
	p := &programme{app.Build(t, owner, nil)}
	reader := p.settleCounty(t) // somebody who may only read
	var project, stove, session struct {
		DID string `json:"did"`
		ID  string `json:"sessionId"`
	}
	p.want(t, "POST", "/v1/entities", `{"type":"Project","protocol":"did:ixo:protocol/project","properties":{"name":"Embu"}}`, &project)
	p.want(t, "POST", "/v1/entities", `{"type":"Household","protocol":"did:ixo:protocol/household","properties":{"district":"Embu"},"relationships":[{"role":"project","target":"`+project.DID+`"}]}`, &stove)
	do := func(method, path, body string) string {
		t.Helper()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("X-API-Key", owner)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if p.Handler.ServeHTTP(w, r); w.Code >= 300 {
			t.Fatalf("%s %s %s = %d %s", method, path, body, w.Code, w.Body)
		}
		return w.Body.String()
	}
	if err := json.Unmarshal([]byte(do("POST", "/sessions", "")), &session); err != nil {
		t.Fatal(err)
	}
	say := func(said string) string {
		t.Helper()
		body, err := json.Marshal(map[string]string{"message": said})
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(do("POST", "/messages/"+session.ID, string(body)), `\"`, `"`)
	}
	want := func(said, text string) {
		t.Helper()
		if got := say(said); !strings.Contains(got, text) {
			t.Errorf("%s = %s, want %q", said, got, text)
		}
	}
	want(`/tool twin_graph {"did":"`+stove.DID+`"}`, project.DID)
	want(`/tool draft_twin_change {"did":"`+stove.DID+`","set":{"properties.district":"Kitui"}}`, `{"path":"properties.district","from":"Embu","to":"Kitui"}`)
	change := `/tool change_twin {"did":"` + stove.DID + `","changes":[{"path":"properties.district","from":"Embu","to":"Kitui"}]}`
	want(change, "PUT /grants/change_twin")
	if got := p.twin(t, stove.DID); !strings.Contains(got, "Embu") {
		t.Errorf("without a word of the user the twin is %s", got)
	}
	do("PUT", "/grants/change_twin", `{"sessionId":"`+session.ID+`"}`)
	want(change, "Changed.")
	if got := p.twin(t, stove.DID); !strings.Contains(got, "Kitui") {
		t.Errorf("after the change the twin is %s", got)
	}
	want(change, "Draft the change again")
	p.talk(t, "PUT", "/grants/change_twin", `{}`)
	said, err := json.Marshal(map[string]string{"message": change})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.talk(t, "POST", "/messages/"+reader, string(said)).Body.String(); !strings.Contains(got, "no right") {
		t.Errorf("somebody who may only read = %s", got)
	}
}
