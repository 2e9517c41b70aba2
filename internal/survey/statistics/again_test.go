package statistics_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Whoever has the basis of figures makes the same figures as the server, and learns no
// household by it.
func TestAgain(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		homes := twenty()
		homes[3].answers["name"], homes[3].answers["said"] = "Mary Canary", "Canary said so"
		v.start(t, "s", drawnTwo, homes)
		v.ask(t, "s", 1, homes)
		ctx := web.WithCaller(t.Context(), web.Caller{Workspace: "ws", DID: "did:key:auditor", Scopes: []string{"analytics:read"}, Projects: []string{surveytest.Project}})
		b, err := v.figures.Basis(ctx, "s", func(id string) string { return "hh_" + strings.TrimPrefix(id, "did:ixo:household/") })
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(b, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"Canary", "did:ixo:household/"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("the basis holds %q", secret)
			}
		}
		var read statistics.Basis
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if len(read.Questions) != 5 {
			t.Fatalf("%d questions: %s", len(read.Questions), text)
		}
		for i, q := range read.Questions {
			got, err := read.Again(i)
			if err != nil {
				t.Fatalf("%s: %v", q.Question, err)
			}
			again, _ := json.Marshal(got)
			kept, _ := json.Marshal(q.Figures)
			if string(again) != string(kept) {
				t.Errorf("%s: again %s, was %s", q.Question, again, kept)
			}
			shown := v.get(t, "auditor", "s", "question="+q.Question)
			if len(shown.Estimates) != len(got.Estimates) || number(shown.Estimates[0].Estimate) != number(got.Estimates[0].Estimate) || number(shown.Estimates[0].High) != number(got.Estimates[0].High) {
				t.Errorf("%s: the server says %+v, the basis %+v", q.Question, shown.Estimates[0], got.Estimates[0])
			}
		}
	})
}
