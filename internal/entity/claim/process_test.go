package claim_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// self is a protocol whose rubrics decide by what claims say.
const self = `{"type":"Protocol","name":"stove","domainType":"device","properties":{"name":"string"},"relationships":{},"claimTypes":{
	"auto":{"verification":{"mode":"auto","oracles":["%[2]s","%[3]s"],"rubric":[%[1]s]}},"hybrid":{"verification":{"mode":"hybrid","oracles":["%[2]s","%[3]s"],"rubric":[%[1]s]}},"manual":{"verification":{"rubric":[%[1]s]}}}}`

const selfRules = `{"id":"none","stage":"veto","when":"claim.amount > 1000.0","then":{"outcome":"rejected","reasonCode":"TOO_MUCH"},"text":"No stove saves that much."},
	{"id":"odd","stage":"manual_review","when":"claim.amount > 100.0","then":{"outcome":"manual_review_required","reasonCode":"ODD"}},
	{"id":"some","stage":"partial","when":"claim.amount > 10.0","then":{"outcome":"partial_success","reasonCode":"CAPPED","amount":"10.0"}},
	{"id":"rest","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"IN_USE"}}`

func newSelf(t testing.TB, d *db.DB) *court {
	t.Helper()
	v := newEnv(t, d)
	judge, mine := v.twin(t, "judge", "oracle"), v.twin(t, "owner", "oracle")
	p := v.want(t, "author", "POST /v1/protocols", fmt.Sprintf(self, selfRules, judge, mine), "201").text("did")
	v.want(t, "author", "POST /v1/protocols/"+p+"/publish", "", "200")
	v.want(t, "judge", "POST "+consentAt(judge), "", "200")
	v.want(t, "owner", "POST "+consentAt(mine), "", "200")
	return &court{env: v, stove: v.want(t, "owner", "POST /v1/entities", `{"type":"stove","protocol":"`+p+`"}`, "201").text("did"), oracle: judge, mine: mine}
}

// amount submits a claim of a kind and an amount, by somebody, to an oracle.
func (c *court) amount(t testing.TB, kind string, amount int, oracle string) string {
	t.Helper()
	c.month++
	day := fmt.Sprintf("%d-%02d-", 2000+c.month/12, c.month%12+1)
	body := strings.Replace(claimed(c.stove, day+"01", day+"28", `,"oracle":"`+oracle+`"`), "fuel-saved", kind, 1)
	return c.want(t, "owner", "POST /v1/claims", strings.Replace(body, `"value":12`, fmt.Sprintf(`"value":%d`, amount), 1), "201").text("id")
}

// The engine decides what the rubric and the mode let it, as the controller of the oracle,
// and says why; the rest is for people.
func TestEngine(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newSelf(t, d)
		cases := []struct {
			kind                 string
			amount               int
			oracle, want, words  string
			evaluator, automatic string
		}{
			{"auto", 5, c.oracle, "approved verified map[unit:kg value:5]", "5 of 5 kg are approved", "did:key:judge", "true"},
			{"auto", 50, c.oracle, "approved verified map[unit:kg value:10]", "10 of 50 kg are approved", "did:key:judge", "true"},
			{"auto", 5000, c.oracle, "rejected rejected <nil>", "No stove saves that much.", "did:key:judge", "true"},
			{"auto", 500, c.oracle, "pending unverified <nil>", "People decide.", "did:key:judge", "true"},
			{"auto", 6, c.mine, "pending unverified <nil>", "has a part in the claim", "did:key:owner", "true"},
			{"hybrid", 5, c.oracle, "pending unverified <nil>", "people approve", "did:key:judge", "true"},
			{"hybrid", 5000, c.oracle, "rejected rejected <nil>", "No stove saves that much.", "did:key:judge", "true"},
		}
		manual := c.amount(t, "manual", 5, c.oracle)
		unnamed := c.amount(t, "auto", 5, c.twin(t, "judge", "oracle"))
		var ids []string
		for _, e := range cases {
			ids = append(ids, c.amount(t, e.kind, e.amount, e.oracle))
		}
		if got := c.want(t, "stranger", "POST /v1/claims:process", "", "200").Body["items"].([]any); len(got) != 0 {
			t.Errorf("a stranger has processed %d claims, want none", len(got))
		}
		done := c.want(t, "anybody", "POST /v1/claims:process", "", "200").Body["items"].([]any)
		if len(done) != len(cases)+1 {
			t.Fatalf("%d claims were processed, want %d: %v", len(done), len(cases)+1, done)
		}
		if got, want := c.status(t, unnamed), "pending unverified <nil>"; got != want {
			t.Errorf("a claim of an oracle that nobody has named is %s, want %s", got, want)
		}
		done = done[1:] // the oldest
		for i, e := range cases {
			if got := c.status(t, ids[i]); got != e.want {
				t.Errorf("%s of %d is %s, want %s", e.kind, e.amount, got, e.want)
			}
			if got := fmt.Sprint(done[i].(map[string]any)["words"]); !strings.Contains(got, e.words) {
				t.Errorf("%s of %d: %q, want %q in it", e.kind, e.amount, got, e.words)
			}
			why := c.want(t, "owner", "GET "+claimAt(ids[i])+"/explanation", "", "200")
			if !strings.Contains(why.text("words"), e.words) {
				t.Errorf("%s of %d is explained by %q, want %q in it", e.kind, e.amount, why.text("words"), e.words)
			}
			record := why.Body["evaluation"].(map[string]any)
			if got := fmt.Sprint(record["evaluator"], record["automatic"]); got != e.evaluator+e.automatic {
				t.Errorf("%s of %d was evaluated by %s, want %s", e.kind, e.amount, got, e.evaluator+e.automatic)
			}
			if same := c.want(t, "owner", "POST "+claimAt(ids[i])+"/evaluations:recompute", "", "200").Body["same"]; same != true {
				t.Errorf("%s of %d does not come out the same again", e.kind, e.amount)
			}
		}
		if got, want := c.status(t, manual), "pending unverified <nil>"; got != want {
			t.Errorf("manual is %s, want %s", got, want)
		}
		if got := c.want(t, "owner", "GET "+claimAt(manual)+"/explanation", "", "200").text("words"); !strings.Contains(got, "Nobody has evaluated") {
			t.Errorf("manual is explained by %q", got)
		}
		if got := c.want(t, "anybody", "POST /v1/claims:process", "", "200").Body["items"].([]any); len(got) != 0 {
			t.Errorf("%d claims were due twice: %v", len(got), got)
		}
		c.want(t, "judge", "POST "+claimAt(ids[5])+"/evaluations", `{}`, "201")
		if got, want := c.status(t, ids[5]), "approved verified map[unit:kg value:5]"; got != want {
			t.Errorf("hybrid is %s after somebody approved it, want %s", got, want)
		}
	})
}

// A claim without an oracle is not decided by itself, and looked at again later.
func TestEngineNeedsOracle(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newSelf(t, d)
		id := c.want(t, "owner", "POST /v1/claims", `{"kind":"auto","subject":"`+c.stove+`","periodEnd":"2020-01-01","amount":{"value":1,"unit":"kg"}}`, "201").text("id")
		done := c.want(t, "anybody", "POST /v1/claims:process", "", "200").Body["items"].([]any)
		if len(done) != 1 || done[0].(map[string]any)["reasonCode"] != "MISSING_RELATIONSHIPS" {
			t.Errorf("processed %v, want one that lacks an oracle", done)
		}
		if got, want := c.status(t, id), "pending unverified <nil>"; got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
		if got := c.want(t, "anybody", "POST /v1/claims:process", "", "200").Body["items"].([]any); len(got) != 0 {
			t.Errorf("it is due again at once: %v", got)
		}
	})
}

// However many process at once, each claim is evaluated once.
func TestEngineOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newSelf(t, d)
		for range 10 {
			c.amount(t, "auto", 5, c.oracle)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/claims:process", nil)
				r.Header.Set("Authorization", "Bearer anybody")
				w := httptest.NewRecorder()
				c.h.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					t.Errorf("process = %d %s", w.Code, w.Body)
				}
			})
		}
		all.Wait()
		var n, claims int
		if err := d.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT claim) FROM claim_evaluations WHERE automatic = 1 AND status = 'approved'`).Scan(&n, &claims); err != nil {
			t.Fatal(err)
		}
		if n != 10 || claims != 10 {
			t.Errorf("%d evaluations of %d claims, want 10 of 10", n, claims)
		}
	})
}
