package app_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// record reads a record as the owner.
func (h *house) record(t *testing.T, path string) map[string]any {
	t.Helper()
	w := h.as(owner, "GET", path, "")
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
		t.Fatalf("GET %s = %d %s, %v", path, w.Code, w.Body, err)
	}
	return out
}

// TestStays: what the certificate of a household says that stays of what other
// parts keep is there afterwards, as it was.
func TestStays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const subject, survey, answer = "did:ixo:household/7", "/v1/surveys/zq.responses", "/v1/responses/zq.answer"
	made := func(path, body string) map[string]any {
		t.Helper()
		w := h.post(path, body)
		var out map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code >= 300 {
			t.Fatalf("POST %s = %d %s, %v", path, w.Code, w.Body, err)
		}
		return out
	}
	made(survey+"/households", `{"items":[{"householdId":"`+subject+`","area":"Kitui","location":{"lat":-1.3,"lon":38.1},"attributes":{"a":"b"}}]}`)
	made(answer+"/verification", fmt.Sprintf(`{"status":"in_review","reason":"to be called","notes":"on Monday","revision":%v}`, h.record(t, answer)["revision"]))
	org := made("/v1/entities", `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"x"}}`)["did"].(string)
	group := made("/v1/entities/"+org+"/groups", `{"name":"x","members":["`+subject+`"]}`)["did"].(string)
	key := made("/v1/api-keys", `{"name":"hers","principal":"`+subject+`","scopes":["entities:read"]}`)["id"].(string)
	// What may differ afterwards, by path; everything else stays.
	home, conflict := survey+"/households/"+subject, survey+"/conflicts/"+h.ids["conflict"]
	gone := map[string][]string{
		home:                             {"area", "location", "attributes", "collector", "erased", "revision", "updated"},
		answer:                           {"metadata", "deviceId", "location", "masked", "erased", "missingAttachments"},
		answer + "/verification":         {"reason", "notes", "decisions"},
		conflict:                         {"sent", "stored", "storedRevision", "reason", "differences"},
		survey + "/progress":             nil,
		"/v1/api-keys/" + key:            {"name", "revokedAt", "revision", "status", "updated"},
		answer + "/history":              nil,
		answer + "/verification/history": nil,
	}
	gone[survey+"/back-checks/"+h.ids["back-check"]] = nil
	before := map[string]map[string]any{}
	for path := range gone {
		before[path] = h.record(t, path)
	}
	stays, _ := made("/v1/erasures", `{"subject":"`+subject+`","reason":"asked to"}`)["stays"].([]any)
	for _, begin := range []string{
		"That it was a member ", "Its API keys stay ", "It stays on lists ", "Its responses stay ", "Answers that the template does not mark ",
		"Decisions about ", "Of files ", "Of contents that clashed ", "It stays counted ",
	} {
		if !slices.ContainsFunc(stays, func(s any) bool { return strings.HasPrefix(s.(string), begin) }) {
			t.Errorf("stays = %q, want a sentence that begins with %q", stays, begin)
		}
	}
	for path, names := range gone {
		was, is := before[path], h.record(t, path)
		for _, r := range []map[string]any{was, is} {
			maps.DeleteFunc(r, func(name string, _ any) bool { return slices.Contains(names, name) })
			items, _ := r["items"].([]any)
			for _, one := range items {
				maps.DeleteFunc(one.(map[string]any), func(name string, _ any) bool { return name == "reason" || name == "notes" })
			}
		}
		for _, name := range slices.Sorted(maps.Keys(was)) {
			if !reflect.DeepEqual(was[name], is[name]) {
				t.Errorf("%s: %s = %v, was %v", path, name, is[name], was[name])
			}
		}
	}
	if w := h.as(owner, "GET", "/v1/audit?subject="+group, ""); !strings.Contains(w.Body.String(), subject) {
		t.Errorf("events of the group = %s, want the DID", w.Body)
	}
}
