package response_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func patch(etag, text string) response.Correction {
	return response.Correction{IfMatch: etag, Patch: []byte(text)}
}

func TestCorrect(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("r1", 1, `home.phone="0700"`, "home.cost=2"))
		for _, tt := range []struct {
			who, etag, patch, code, fields string
		}{
			{"ann", "", `{}`, "PRECONDITION_REQUIRED", "header/If-Match required"},
			{"ann", `"7"`, `{}`, "STALE_REVISION", "header/If-Match stale"},
			{"bob", `"1"`, `{}`, "NOT_COLLECTOR", ""},
			{"elsewhere", `"1"`, `{}`, "RESPONSE_NOT_FOUND", ""},
			{"ann", `"1"`, `{"householdId":"did:ixo:household/2","round":2,"collector":"did:key:bob"}`, "RESPONSE_INVALID", "/householdId read_only, /round read_only, /collector read_only"},
			{"ann", `"1"`, `{"responses":{"home":{"size":99,"fuel":"wood"}}}`, "RESPONSE_INVALID", "/responses/home/fuel wrong_type, /responses/home/size out_of_range"},
			{"ann", `"1"`, `{"responses":{"home":{"size":null}}}`, "RESPONSE_INVALID", "/responses/home/size required"},
			{"ann", `"1"`, `{"verification":{"status":"verified"}}`, "RESPONSE_INVALID", "/verification read_only"},
			{"ann", `"1"`, `{"nope":1}`, "UNKNOWN_MEMBER", "/nope unknown"},
			{"ann", `"1"`, `[]`, "", ""},
		} {
			_, err := v.s.Correct(as(t, tt.who), "r1", patch(tt.etag, tt.patch))
			if tt.code == "" {
				if err == nil {
					t.Errorf("%s: stored", tt.patch)
				}
				continue
			}
			want(t, tt.who+" "+tt.patch, err, tt.code)
			if got := codes(err); tt.fields != "" && got != tt.fields {
				t.Errorf("%s: %s, want %s", tt.patch, got, tt.fields)
			}
		}
		r, err := v.s.Correct(as(t, "ann"), "r1", response.Correction{IfMatch: `"1"`, Reason: "misheard", Patch: []byte(`{"responses":{"home":{"cost":3,"fuel":null}},"language":"sw"}`)})
		if err != nil || r.ETag != `"2"` || r.Status != 200 {
			t.Fatalf("patch = %+v, %v %s", r, err, codes(err))
		}
		got := v.get(t, "mia", "r1")
		if string(got.Responses.Value) != `{"consent":{"ok":true},"home":{"cost":3,"phone":"0700","size":4,"yearly":36}}` || got.Language != "sw" || got.SubmittedBy != "did:key:ann" {
			t.Errorf("record = %s %+v", got.Responses.Value, got.Head)
		}
		// Who reads without what is about people and sends it back keeps it.
		whole := draft("r1", 1, "home.size=6")
		if _, err := v.s.Correct(as(t, "ann"), "r1", response.Correction{IfMatch: `"2"`, Draft: whole}); err != nil {
			t.Fatal(err, codes(err))
		}
		if got := v.get(t, "mia", "r1"); string(got.Responses.Value) != `{"consent":{"ok":true},"home":{"fuel":["wood"],"phone":"0700","size":6}}` || got.Language != "" {
			t.Errorf("record = %s", got.Responses.Value)
		}
		// Who reads it decides.
		if _, err := v.s.Correct(as(t, "mia"), "r1", response.Correction{IfMatch: `"3"`, Draft: draft("r1", 1)}); err != nil {
			t.Fatal(err, codes(err))
		}
		if got := v.get(t, "mia", "r1"); strings.Contains(string(got.Responses.Value), "phone") || got.Masked != nil || v.tally(t).Completed != 1 {
			t.Errorf("record = %s, %v", got.Responses.Value, got.Masked)
		}
		if got := v.events(t); got != "submitted updated updated updated" {
			t.Errorf("events = %s", got)
		}
	})
}

// Of many who correct the same revision one does.
func TestCorrectInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("r1", 1))
		got := crowd(16, func(i int) (string, error) {
			_, err := v.s.Correct(as(t, "ann"), "r1", patch(`"1"`, fmt.Sprintf(`{"responses":{"home":{"size":%d}}}`, i+5)))
			return "ok", err
		})
		if got["ok"] != 1 || got["STALE_REVISION"] != 15 {
			t.Errorf("answers = %v, want one", got)
		}
		if n := v.count(t, "response_history"); n != 1 {
			t.Errorf("%d earlier revisions, want 1", n)
		}
	})
}

// A partial response is never verified, and is complete once it is.
func TestPartial(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		gap := draft("r1", 1, "home.size=")
		_, err := v.s.Submit(as(t, "ann"), "s", gap)
		want(t, "with a gap", err, "RESPONSE_INVALID")
		gap.Partial = true
		if r := v.submit(t, "ann", gap); r.Status != "partial" || !slices.Equal(r.Missing, []string{"/responses/home/size"}) {
			t.Errorf("record = %+v", r.Head)
		}
		if got := v.tally(t); got.Partial != 1 || got.Completed != 0 {
			t.Errorf("counters = %+v", got)
		}
		if _, err := v.s.Correct(as(t, "ann"), "r1", patch("*", `{"responses":{"home":{"size":3}}}`)); err != nil {
			t.Fatal(err)
		}
		if r := v.get(t, "reader", "r1"); r.Status != "complete" || r.Missing != nil {
			t.Errorf("record = %+v", r.Head)
		}
		if got := v.tally(t); got.Partial != 0 || got.Completed != 1 {
			t.Errorf("counters = %+v", got)
		}
		posted := draft("r2", 2, "home.size=")
		posted.Partial = true
		posted.Verification = &response.Verification{Status: "verified", Verifier: "did:key:zoe", Timestamp: time.Date(2026, 2, 21, 0, 0, 0, 0, time.UTC)}
		_, err = v.s.Submit(as(t, "ann"), "s", posted)
		want(t, "verification by a collector", err, "SCOPE_MISSING")
		_, err = v.s.Submit(as(t, "importer"), "s", posted)
		want(t, "verification of a partial one", err, "RESPONSE_NOT_VERIFIABLE")
		posted.Responses = draft("r2", 2).Responses
		for name, verdict := range map[string]response.Verification{
			"VERIFIER_IS_COLLECTOR": {Status: "verified", Verifier: "did:key:importer", Timestamp: posted.Verification.Timestamp},
			"RESPONSE_INVALID":      {Status: "verified", Verifier: "did:key:zoe", Timestamp: posted.Timestamp.Add(-time.Second)},
		} {
			forged := *posted
			forged.Verification = &verdict
			_, err = v.s.Submit(as(t, "importer"), "s", &forged)
			want(t, "a decision nobody can have made", err, name)
		}
		r := v.submit(t, "importer", posted)
		if r.Verification.Status != "verified" || r.Verification.Outcome != "approved" || r.Verification.Verifier != "did:key:zoe" || v.tally(t).Verified != 1 {
			t.Errorf("verification = %+v, %+v", r.Verification, v.tally(t))
		}
		// It is no part of the content.
		posted.Verification = nil
		if again, err := v.s.Submit(as(t, "importer"), "s", posted); err != nil || again.Status != 200 {
			t.Errorf("again = %d, %v", again.Status, err)
		}
		_, err = v.s.Correct(as(t, "importer"), "r2", patch("*", `{"responses":{"home":{"size":3}}}`))
		want(t, "correct a verified one", err, "RESPONSE_LOCKED")
		_, err = v.s.Correct(as(t, "owner"), "r2", patch("*", `{"responses":{"home":{"size":3}}}`))
		want(t, "correct a verified one and not say why", err, "INVALID_PARAMETER")
		why := patch("*", `{"responses":{"home":{"size":3}}}`)
		why.Reason = "The household has called."
		if _, err := v.s.Correct(as(t, "owner"), "r2", why); err != nil {
			t.Fatal(err)
		}
		if r := v.get(t, "reader", "r2"); r.Verification.Status != "pending" || r.Verification.Verifier != "" || v.tally(t).Verified != 0 {
			t.Errorf("verification = %+v", r.Verification)
		}
	})
}

func TestHistory(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		begin := time.Now().Add(-time.Hour)
		v.clock.Set(begin)
		v.submit(t, "ann", draft("r1", 1, `home.phone="0700"`))
		for i := 2; i <= 5; i++ {
			v.clock.Set(begin.Add(time.Duration(i) * time.Minute))
			c := patch("*", fmt.Sprintf(`{"responses":{"home":{"size":%d,"phone":"%d"}}}`, i+10, i))
			c.Reason = fmt.Sprint("reason ", i)
			if _, err := v.s.Correct(as(t, "ann"), "r1", c); err != nil {
				t.Fatal(err, codes(err))
			}
		}
		var seen []int64
		for before := int64(0); ; {
			items, next, err := v.s.History(as(t, "mia"), "r1", before, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range items {
				seen = append(seen, it.Revision)
				wanted := `[{"pointer":"/responses/home/phone","old":"` + fmt.Sprint(it.Revision-1) + `","new":"` + fmt.Sprint(it.Revision) + `"},` +
					fmt.Sprintf(`{"pointer":"/responses/home/size","old":%d,"new":%d}]`, it.Revision+9, it.Revision+10)
				if text, _ := json.Marshal(it.Changes); it.Revision > 2 && (string(text) != wanted || it.Reason != fmt.Sprint("reason ", it.Revision) || it.By != "did:key:ann") {
					t.Errorf("revision %d = %+v %s\nwant %s", it.Revision, it, text, wanted)
				}
			}
			if before = next; next == 0 {
				break
			}
		}
		if fmt.Sprint(seen) != "[5 4 3 2 1]" {
			t.Errorf("revisions = %v", seen)
		}
		items, _, err := v.s.History(as(t, "reader"), "r1", 0, 50)
		if text, _ := json.Marshal(items); err != nil || strings.Contains(string(text), "phone") || items[4].Action != "submitted" || items[4].Changes != nil {
			t.Errorf("without personal data: %s, %v", text, err)
		}
		for _, tt := range []struct{ at, code, size string }{
			{"1", "", `"size":4`},
			{"3", "", `"size":13`},
			{"5", "", `"size":15`},
			{begin.Add(3 * time.Minute).Format(time.RFC3339Nano), "", `"size":13`},
			{begin.Add(150 * time.Second).Format(time.RFC3339Nano), "", `"size":12`},
			{"2199-01-01T00:00:00Z", "", `"size":15`},
			{"0", "REVISION_NOT_FOUND", ""},
			{"6", "REVISION_NOT_FOUND", ""},
			{"1999-01-01T00:00:00Z", "REVISION_NOT_FOUND", ""},
			{"yesterday", "INVALID_PARAMETER", ""},
		} {
			r, err := v.s.At(as(t, "reader"), "r1", tt.at)
			want(t, tt.at, err, tt.code)
			if err == nil && (!strings.Contains(string(r.Raw), tt.size) || strings.Contains(string(r.Raw), "0700") || record(t, r.Raw).Masked == nil) {
				t.Errorf("at %s = %s, want %s", tt.at, r.Raw, tt.size)
			}
		}
		r, err := v.s.At(as(t, "mia"), "r1", "1")
		if err != nil || !strings.Contains(string(r.Raw), `"phone":"0700"`) {
			t.Errorf("at 1 with personal data = %s, %v", r.Raw, err)
		}
	})
}

// Redaction leaves that there was a response, and nothing that was said.
func TestRedact(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		first := draft("r1", 1, `home.phone="canary"`, "home.size=29")
		first.Metadata.Value = []byte(`{"note":"canary"}`)
		v.submit(t, "ann", first)
		if _, err := v.s.Correct(as(t, "ann"), "r1", patch("*", `{"responses":{"home":{"size":28}}}`)); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ who, etag, reason, code string }{
			{"ann", `"2"`, "", "INVALID_PARAMETER"},
			{"ann", `"2"`, "a\nb", "INVALID_PARAMETER"},
			{"ann", `"1"`, "asked for", "STALE_REVISION"},
			{"ann", "", "asked for", "PRECONDITION_REQUIRED"},
			{"bob", `"2"`, "asked for", "NOT_COLLECTOR"},
			{"ann", `"2"`, "asked for", ""},
			{"ann", `"3"`, "again", "RESPONSE_LOCKED"},
		} {
			_, err := v.s.Redact(as(t, tt.who), "r1", tt.etag, tt.reason)
			want(t, fmt.Sprint("redact ", tt), err, tt.code)
		}
		r := v.get(t, "mia", "r1")
		if r.Status != "redacted" || string(r.Responses.Value) != "{}" || !r.Metadata.IsZero() || r.HouseholdID == "" || r.Revision != 3 {
			t.Errorf("record = %+v", r)
		}
		items, _, err := v.s.History(as(t, "mia"), "r1", 0, 10)
		if err != nil || len(items) != 3 || items[0].Action != "redacted" || items[0].Reason != "asked for" || items[0].Changes != nil || items[1].Changes != nil {
			t.Errorf("history = %+v, %v", items, err)
		}
		for rev := range 3 {
			at, err := v.s.At(as(t, "mia"), "r1", fmt.Sprint(rev+1))
			if err != nil || strings.Contains(string(at.Raw), "canary") || strings.Contains(string(at.Raw), `"size"`) {
				t.Errorf("revision %d = %s, %v", rev+1, at.Raw, err)
			}
		}
		if got := v.tally(t); got.Completed != 0 {
			t.Errorf("counters = %+v", got)
		}
		// The same again is no new response; another one may come.
		if again, err := v.s.Submit(as(t, "ann"), "s", first); err != nil || again.Status != 200 || strings.Contains(string(again.Raw), "canary") {
			t.Errorf("again = %d %s, %v", again.Status, again.Raw, err)
		}
		v.submit(t, "ann", draft("r2", 1))
	})
}

// The responses of a household in all surveys, page by page, as far as the
// caller sees them.
func TestOfHousehold(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.start(t, strings.NewReplacer(`"s"`, `"s2"`, "project/one", "project/two").Replace(homeSurvey))
		v.submit(t, "ann", draft("a", 1))
		next := draft("b", 1)
		next.Supersedes = "a"
		v.submit(t, "ann", next)
		v.submit(t, "ann", draft("c", 2))
		if _, err := v.s.Submit(as(t, "ann"), "s2", draft("d", 1)); err != nil {
			t.Fatal(err)
		}
		ids := func(role string, limit int) string {
			t.Helper()
			var out []string
			var at response.Place
			for {
				items, next, err := v.s.OfHousehold(as(t, role), "did:ixo:household/1", at, limit)
				if err != nil {
					t.Fatal(err)
				}
				for _, it := range items {
					out = append(out, record(t, it.Value).ResponseID)
				}
				if next == nil {
					return strings.Join(out, " ")
				}
				at = *next
			}
		}
		for _, tt := range []struct {
			role  string
			limit int
			want  string
		}{{"owner", 50, "b a d"}, {"owner", 1, "b a d"}, {"mia", 2, "b a d"}, {"reader", 50, ""}, {"project", 1, "b a"}, {"elsewhere", 1, "d"}} {
			if got := ids(tt.role, tt.limit); got != tt.want {
				t.Errorf("%s by %d = %s, want %s", tt.role, tt.limit, got, tt.want)
			}
		}
		for _, query := range []string{"", "?householdId=", "?householdId=x"} {
			if w := v.send(t, "mia", "GET /v1/responses"+query, ""); w.Code != 400 {
				t.Errorf("%q = %d", query, w.Code)
			}
		}
		w := v.send(t, "mia", "GET /v1/responses?householdId=did:ixo:household/1&limit=2", "")
		var page web.Page[response.Record]
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Items) != 2 || !page.Page.HasMore {
			t.Errorf("page = %s, %v", w.Body, err)
		}
		w = v.send(t, "mia", "GET /v1/responses?householdId=did:ixo:household/1&limit=2&cursor="+page.Page.NextCursor, "")
		if !strings.Contains(w.Body.String(), `"responseId":"d"`) || strings.Contains(w.Body.String(), `"hasMore":true`) {
			t.Errorf("second page = %s", w.Body)
		}
	})
}
