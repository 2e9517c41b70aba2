package app_test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
)

// callsOn are the calls on the time line of a twin, and what is withheld.
func (p *programme) callsOn(t *testing.T, key, did, more string) (calls []api.TimelineItem, page api.Timeline) {
	t.Helper()
	w := p.send(t, key, "GET", "/v1/entities/"+url.PathEscape(did)+"/timeline"+more, "")
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
		t.Fatalf("time line of %s: %d %s", did, w.Code, w.Body)
	}
	for _, i := range page.Items {
		if i.Kind == "call" {
			calls = append(calls, i)
		}
	}
	return calls, page
}

// TestTimelineHasCalls: calls of a person are on her time line and on that of her
// household, for the operator who may know numbers, and go with her.
func TestTimelineHasCalls(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	const phone = "+254711223377"
	c := p.register(t, customer{phone: phone, name: "Akinyi Odera", email: "00", pin: "48213"})
	for _, session := range []string{"second", "third"} {
		p.dial(t, session, phone, "")
		p.dial(t, session, phone, "cancel") // leaves, which ends the call
	}
	var calls []api.TimelineItem
	p.until(t, "both calls are kept", func() bool { calls, _ = p.callsOn(t, owner, c.household, ""); return len(calls) >= 2 })
	for _, i := range calls {
		var call api.Call
		p.want(t, "GET", i.Link, "", &call)
		if i.Source != "line" || i.Other != c.did || call.PhoneNumber != phone || call.Ending != i.Status || !call.EndedAt.Equal(i.At) {
			t.Errorf("%+v leads to %+v", i, call)
		}
	}
	if own, _ := p.callsOn(t, owner, c.did, ""); !slices.Equal(own, calls) {
		t.Errorf("calls of the person = %v, of the household %v", own, calls)
	}
	var paged []api.TimelineItem
	for cursor := ""; ; {
		some, page := p.callsOn(t, owner, c.household, "?limit=1&cursor="+cursor)
		paged = append(paged, some...)
		if cursor = page.Page.NextCursor; !page.Page.HasMore {
			break
		}
	}
	if !slices.Equal(paged, calls) {
		t.Errorf("one a page: %v, want %v", paged, calls)
	}
	var key struct {
		Text string `json:"key"`
	}
	p.want(t, "POST", "/v1/api-keys", `{"name":"reader","scopes":["entities:read","ussd:read"]}`, &key)
	if some, page := p.callsOn(t, key.Text, c.household, ""); len(some) > 0 || !slices.Contains(page.Withheld, "line") {
		t.Errorf("without entities:pii: %v, withheld %v", some, page.Withheld)
	}
	p.erase(t, c.did)
	if left, _ := p.callsOn(t, owner, c.household, ""); len(left) > 0 {
		t.Errorf("after the erasure: %v", left)
	}
}
