package app_test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
)

// timely is the household that was interviewed.
const timely = "did:ixo:household/7"

// timeline reads all pages of a time line with a key, so many items at a time.
func (h *house) timeline(t *testing.T, key, did, limit string) (items []api.TimelineItem, withheld []string) {
	t.Helper()
	for cursor := ""; ; {
		w := h.as(key, "GET", "/v1/entities/"+url.PathEscape(did)+"/timeline?limit="+limit+"&cursor="+cursor, "")
		var page api.Timeline
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
			t.Fatalf("time line of %s: %d %s", did, w.Code, w.Body)
		}
		items = append(items, page.Items...)
		if !page.Page.HasMore {
			return items, page.Withheld
		}
		cursor = page.Page.NextCursor
	}
}

// TestTimelineReachesAllAreas: one household that was made, changed, given a device
// with readings and interviewed has all of it on one time line, each as far as its
// reader may know.
func TestTimelineReachesAllAreas(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const device = "did:ixo:device/timely"
	path := "/v1/entities/" + url.PathEscape(timely)
	for _, step := range []struct{ method, path, body string }{
		{"POST", "/v1/households", `{"did":"` + timely + `","name":"Amina"}`},
		{"PATCH", path, `{"properties":{"size":4}}`},
		{"POST", "/v1/devices", `{"did":"` + device + `","type":"StoveUseMonitor","householdId":"` + timely + `"}`},
		{"POST", "/v1/devices/" + url.PathEscape(device) + "/readings", `{"readings":[{"timestamp":"2024-02-20T08:00:00Z","temperature":70},{"timestamp":"2024-02-21T08:00:00Z","temperature":71}]}`},
	} {
		if w := h.as(owner, step.method, step.path, step.body); w.Code > 299 {
			t.Fatalf("%s %s = %d %s", step.method, step.path, w.Code, w.Body)
		}
	}
	all, withheld := h.timeline(t, owner, timely, "50")
	found := map[string]int{}
	for _, i := range all {
		found[i.Source+" "+i.Kind]++
		if i.Kind == "ended" {
			continue
		}
		if w := h.as(owner, "GET", i.Link, ""); w.Code != 200 {
			t.Errorf("%s %s leads to %s: %d %s", i.Source, i.Kind, i.Link, w.Code, w.Body)
		}
	}
	for what, n := range map[string]int{"relationships began": 1, "readings day": 2, "revisions create": 1} {
		if found[what] != n {
			t.Errorf("%d times %q, want %d: %v", found[what], what, n, found)
		}
	}
	if found["interviews interview"] == 0 || len(withheld) > 0 {
		t.Errorf("time line = %v, withheld %v; want the interview with it", found, withheld)
	}
	for _, limit := range []string{"1", "3"} {
		if pages, _ := h.timeline(t, owner, timely, limit); !slices.Equal(pages, all) {
			t.Errorf("%s a page: %v, want %v", limit, pages, all)
		}
	}
	h.timelineRights(t, path)
}

// timelineRights looks at the time line with keys that may read less of it.
func (h *house) timelineRights(t *testing.T, path string) {
	t.Helper()
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	few := h.key(t, ctx, "reader of twins", "entities:read").Text
	items, withheld := h.timeline(t, few, timely, "50")
	if !slices.Equal(withheld, []string{"interviews", "line", "readings"}) {
		t.Errorf("withheld = %v", withheld)
	}
	for _, i := range items {
		if i.Source != "revisions" && i.Source != "relationships" {
			t.Errorf("a reader of twins is told of %+v", i)
		}
	}
	for what, tt := range map[string]struct {
		key, path string
		want      int
	}{
		"another workspace":  {h.other, path + "/timeline", 404},
		"no twin":            {owner, "/v1/entities/did:ixo:nobody/timeline", 404},
		"no time":            {owner, path + "/timeline?before=yesterday", 400},
		"somebody's cursor":  {owner, path + "/timeline?cursor=abc", 400},
		"before there was a": {owner, path + "/timeline?before=1999-01-01T00:00:00%2B03:00", 200},
	} {
		if w := h.as(tt.key, "GET", tt.path, ""); w.Code != tt.want {
			t.Errorf("%s: %d %s, want %d", what, w.Code, w.Body, tt.want)
		}
	}
	missing, get := h.as(h.other, "GET", path+"/timeline", ""), h.as(h.other, "GET", path, "")
	var a, b struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	if err := json.Unmarshal(missing.Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(get.Body.Bytes(), &b); err != nil || a != b || a.Code != "ENTITY_NOT_FOUND" {
		t.Errorf("elsewhere the time line is %s, the twin %s", missing.Body, get.Body)
	}
}
