package client_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/client"
)

func TestListFollowsPages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":  `{"items":[{"id":"1"},{"id":"2"}],"page":{"limit":2,"nextCursor":"a","hasMore":true}}`,
		"a": `{"items":[],"page":{"limit":2,"nextCursor":"b","hasMore":true}}`,
		"b": `{"items":[{"id":"3"}],"page":{"limit":2,"hasMore":false}}`,
	}
	calls := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		if r.URL.Query().Get("limit") != "2" {
			t.Errorf("query %s, want limit=2 on every page", r.URL.RawQuery)
		}
		fmt.Fprint(w, pages[r.URL.Query().Get("cursor")])
	})
	list := c.Keys.List(t.Context(), client.PageQuery{Limit: 2})
	for range 2 { // an iterator may be used again
		var got []string
		for k, err := range list {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, k.ID)
		}
		if !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("keys = %v, want 1 2 3", got)
		}
	}
	for range list {
		break
	}
	if calls != 7 {
		t.Errorf("%d calls, want 3 + 3 + 1: a loop that is left reads no more", calls)
	}
}

func TestListEndsOnTrouble(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string][]string{
		"no cursor":   {`{"items":[{"id":"1"}],"page":{"hasMore":true}}`},
		"same cursor": {`{"items":[{"id":"1"}],"page":{"hasMore":true,"nextCursor":"a"}}`, `{"items":[],"page":{"hasMore":true,"nextCursor":"a"}}`},
		"refusal":     {`{"items":[{"id":"1"}],"page":{"hasMore":true,"nextCursor":"a"}}`, `broken`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, answers[min(n, len(answers)-1)])
				n++
			})
			items, errs := 0, 0
			for _, err := range c.Jobs.List(t.Context(), client.JobQuery{}) {
				if err != nil {
					errs++
					continue
				}
				items++
			}
			if items != 1 || errs != 1 {
				t.Errorf("%d items and %d errors, want 1 and then 1 error that ends the list", items, errs)
			}
		})
	}
}

func TestChangesFollowNext(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"5":  `{"items":[{"seq":6}],"next":9,"hasMore":true}`,
		"9":  `{"items":[],"next":12,"hasMore":true}`,
		"12": `{"items":[{"seq":13}],"next":13,"hasMore":false}`,
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, pages[r.URL.Query().Get("after")]) })
	var got []int64
	for ev, err := range c.Events.List(t.Context(), client.ChangesQuery{After: 5}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.Seq)
	}
	if !slices.Equal(got, []int64{6, 13}) {
		t.Errorf("events = %v, want 6 13", got)
	}
	stuck := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[],"next":5,"hasMore":true}`) })
	errs := 0
	for _, err := range stuck.Events.List(t.Context(), client.ChangesQuery{After: 5}) {
		if err == nil {
			t.Fatal("an event out of nothing")
		}
		errs++
	}
	if errs != 1 {
		t.Errorf("%d errors, want one instead of an endless loop", errs)
	}
}

func TestJobWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []func() (*http.Response, error){jobAnswer("queued"), jobAnswer("running"), jobAnswer("running"), jobAnswer("failed")}}
		c, err := client.New(client.Config{BaseURL: "http://x", HTTP: &http.Client{Transport: a}})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		j, err := c.Jobs.Wait(t.Context(), "j")
		if err != nil || j.Status != "failed" || a.calls != 4 {
			t.Errorf("Wait() = %+v, %v after %d looks; want failed after 4", j, err, a.calls)
		}
		if took := time.Since(begin); took < 100*time.Millisecond || took > time.Second {
			t.Errorf("took %s, want growing waits from 50 ms", took)
		}
	})
}
