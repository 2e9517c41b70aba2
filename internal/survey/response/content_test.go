package response_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json" // not the one the server uses
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// auditor reads a response as it is sent and knows the rule in the reference,
// and nothing of the program. Its numbers and texts need no escapes, for which
// the JSON of the standard library, sorted and compact, is that of RFC 8785.
type auditor map[string]any

func audit(t *testing.T, v *env, role, path string) auditor {
	t.Helper()
	w := v.send(t, role, "GET /v1/responses/"+path, "")
	var out auditor
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
		t.Fatalf("%s reads %s: %d %s", role, path, w.Code, w.Body)
	}
	return out
}

func sorted(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

func (a auditor) content(name string) string {
	c, _ := a["content"].(map[string]any)
	s, _ := c[name].(string)
	return s
}

// recompute is the contentId of the parts that the record names.
func (a auditor) recompute(t *testing.T) string {
	t.Helper()
	doc := map[string]any{"version": 2}
	for _, name := range []string{"open", "named", "who", "personal"} {
		if part := a.content(name); part != "" {
			doc[name] = part
		}
	}
	for _, name := range []string{"timestamp", "startedAt", "durationSec"} {
		if a[name] != nil {
			doc[name] = a[name]
		}
	}
	sum := sha256.Sum256(sorted(t, doc))
	return "b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(append([]byte{1, 0x55, 0x12, 0x20}, sum[:]...)))
}

func salted(t *testing.T, salt string, v any) string {
	t.Helper()
	key, err := hex.DecodeString(salt)
	if err != nil || len(key) < 16 {
		t.Fatalf("salt %q: %v", salt, err)
	}
	m := hmac.New(sha256.New, key)
	m.Write(sorted(t, v))
	return hex.EncodeToString(m.Sum(nil))
}

// whole is what content.personal is made of.
func (a auditor) whole() map[string]any {
	out := map[string]any{"responses": a["responses"]}
	if a["location"] != nil {
		out["location"] = a["location"]
	}
	return out
}

// TestContentID: household, collector, times and all answers are in the
// contentId; everybody checks it as far as they may know the response, nobody
// learns more by it, and after an erasure it can be checked for what is left.
func TestContentID(t *testing.T) {
	t.Parallel()
	const tpl = `{"templateId":"named","validations":{"completionThreshold":0.05},"sections":[
		{"id":"consent","questions":[{"id":"ok","type":"consent"}]},
		{"id":"home","questions":[{"id":"size","type":"number"},{"id":"phone","type":"text","pii":"direct"},{"id":"next","type":"household_ref"},{"id":"note","type":"text"},
			{"id":"people","type":"repeat","questions":[{"id":"name","type":"text","pii":"direct"},{"id":"age","type":"integer"}]}]}]}`
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for _, one := range [][2]string{{"POST /v1/templates", tpl}, {"POST /v1/templates/named/publish", `{}`}} {
			if w := v.send(t, "owner", one[0], one[1]); w.Code >= 300 {
				t.Fatalf("%s = %d %s", one[0], w.Code, w.Body)
			}
		}
		v.start(t, strings.Replace(homeSurvey, `"templateId":"home"`, `"templateId":"named"`, 1))
		send := func(id string, household int, more string) {
			t.Helper()
			body := fmt.Sprintf(`{"responseId":%q,"householdId":"did:ixo:household/%d","timestamp":"2026-02-20T10:00:00Z","responses":{"consent":{"ok":true},"home":{"size":4.5,"note":"é"}}%s}`, id, household, more)
			if w := v.send(t, "ann", "POST /v1/surveys/s/responses", body); w.Code != 201 {
				t.Fatalf("submit %s = %d %s", id, w.Code, w.Body)
			}
		}
		send("plain", 1, "")
		w := v.send(t, "ann", "POST /v1/surveys/s/responses", `{"responseId":"full","householdId":"did:ixo:household/2","timestamp":"2026-02-20T10:00:00Z","startedAt":"2026-02-20T09:30:00.250Z",
			"location":{"lat":-1.25,"lon":36.5,"accuracy":7},
			"responses":{"consent":{"ok":true},"home":{"size":4.5,"phone":"0700 000001","next":"did:ixo:household/3","note":"x","people":[{"name":"Amina","age":30},{"age":4}]}}}`)
		if w.Code != 201 {
			t.Fatalf("submit = %d %s", w.Code, w.Body)
		}

		for _, role := range []string{"owner", "ann", "reader"} {
			for _, id := range []string{"plain", "full"} {
				if a := audit(t, v, role, id); a.recompute(t) != a["contentId"] || a.content("open") == "" {
					t.Errorf("%s recomputes %s as %s, want %v", role, id, a.recompute(t), a["contentId"])
				}
			}
		}
		who := func(a auditor) string {
			return salted(t, a.content("whoSalt"), map[string]any{"householdId": a["householdId"], "collector": a["collector"]})
		}
		all, own, seen := audit(t, v, "owner", "full"), audit(t, v, "ann", "full"), audit(t, v, "reader", "full")
		if got := salted(t, all["personalSalt"].(string), all.whole()); got != all.content("personal") {
			t.Errorf("personal = %s, want %s", got, all.content("personal"))
		}
		if who(all) != all.content("who") || who(own) != own.content("who") || salted(t, own.content("whoSalt"), own["responses"]) != own.content("named") {
			t.Errorf("who and named of %v", own["content"])
		}
		home := seen["responses"].(map[string]any)["home"].(map[string]any)
		delete(home, "next")
		if sum := sha256.Sum256(sorted(t, seen["responses"])); hex.EncodeToString(sum[:]) != seen.content("open") {
			t.Errorf("open of %s, want %s", sorted(t, seen["responses"]), seen.content("open"))
		}
		if own["personalSalt"] != nil || seen["personalSalt"] != nil || seen.content("whoSalt") != "" || audit(t, v, "reader", "full?at=1").content("whoSalt") != "" {
			t.Errorf("salts are shown: %v, %v", own["personalSalt"], seen["content"])
		}
		plain := audit(t, v, "ann", "plain")
		if sum := sha256.Sum256(sorted(t, plain["responses"])); hex.EncodeToString(sum[:]) != plain.content("open") || plain.content("personal") != "" || plain.content("named") != "" {
			t.Errorf("content = %v", plain["content"])
		}

		// Whatever changes, the contentId does.
		known := map[any]string{all["contentId"]: "first"}
		for _, patch := range []string{
			`{"responses":{"home":{"phone":"0700 000002"}}}`, `{"responses":{"home":{"next":"did:ixo:household/4"}}}`, `{"responses":{"home":{"size":5}}}`,
			`{"location":{"lat":-1.5,"lon":36.5}}`, `{"timestamp":"2026-02-20T10:00:01Z"}`, `{"startedAt":"2026-02-20T09:31:00Z"}`,
		} {
			if _, err := v.s.Correct(as(t, "owner"), "full", response.Correction{IfMatch: "*", Patch: []byte(patch)}); err != nil {
				t.Fatal(err, codes(err))
			}
			a := audit(t, v, "owner", "full")
			if was, again := known[a["contentId"]]; again || a.recompute(t) != a["contentId"] {
				t.Errorf("after %s the contentId is that of %s, or cannot be checked", patch, was)
			}
			known[a["contentId"]] = patch
		}

		before := audit(t, v, "owner", "full")
		surveytest.Erase(t, d, "ws", "did:ixo:household/2", v.s.Erase)
		after := audit(t, v, "owner", "full")
		if after["contentId"] != before["contentId"] || after.recompute(t) != before["contentId"] || who(after) != before.content("who") || after["personalSalt"] != nil {
			t.Errorf("after the erasure %v %v, want it to be checked for the rest", after["contentId"], after["content"])
		}
		if _, err := v.s.Redact(as(t, "owner"), "plain", "*", "asked to"); err != nil {
			t.Fatal(err)
		}
		if a := audit(t, v, "owner", "plain"); a.recompute(t) != a["contentId"] || a["contentId"] == plain["contentId"] {
			t.Errorf("redacted: %v", a["contentId"])
		}
	})
}

// TestContentIDOfBefore: a response from before has the contentId it had, and gets
// one of the new form with its next content.
func TestContentIDOfBefore(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("r1", 1))
		var body string
		if err := d.QueryRow(t.Context(), `SELECT body FROM responses`).Scan(&body); err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		delete(m, "content")
		m["contentId"] = "bafkreiold"
		if _, err := d.Exec(t.Context(), `UPDATE responses SET body = $1`, string(sorted(t, m))); err != nil {
			t.Fatal(err)
		}
		for _, role := range []string{"owner", "reader"} {
			if a := audit(t, v, role, "r1"); a["contentId"] != "bafkreiold" || a["content"] != nil {
				t.Errorf("%s reads %v %v, want what it was", role, a["contentId"], a["content"])
			}
		}
		if _, err := v.s.Correct(as(t, "ann"), "r1", response.Correction{IfMatch: "*", Patch: []byte(`{"responses":{"home":{"size":9}}}`)}); err != nil {
			t.Fatal(err, codes(err))
		}
		if a := audit(t, v, "ann", "r1"); a.recompute(t) != a["contentId"] {
			t.Errorf("corrected: %v %v", a["contentId"], a["content"])
		}
		if a := audit(t, v, "ann", "r1?at=1"); a["contentId"] != "bafkreiold" {
			t.Errorf("the first revision: %v", a["contentId"])
		}
	})
}
