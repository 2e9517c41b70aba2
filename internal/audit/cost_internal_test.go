package audit

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// records is a server with one twin of many revisions, and devices with 400 corrections
// each, that counts what is looked at.
type records struct {
	claim                            api.Claim
	requests, revisions, corrections int
}

const newestRevision = 900

func (r *records) history(_ context.Context, _ string, below int64, limit int) (out []api.Revision, _ int64, _ error) {
	at := int64(newestRevision)
	if below > 0 {
		at = min(at, below-1)
	}
	for ; at > 0 && len(out) < limit; at-- {
		r.revisions++
		out = append(out, api.Revision{Revision: at, Hash: fmt.Sprintf("hash %d", at), Erased: at == 7})
	}
	return out, 0, nil
}

func (r *records) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.requests++
	var v any = map[string]any{}
	switch day := r.claim.Submitted; {
	case strings.HasPrefix(q.URL.Path, "/v1/claims/"):
		v = r.claim
	case strings.HasSuffix(q.URL.Path, "/readings"):
		v = map[string]any{"items": []any{map[string]any{"timestamp": day, "temperature": 20}}}
	case strings.HasSuffix(q.URL.Path, "/corrections"):
		var items []api.ReadingCorrection
		for i := range 400 {
			items = append(items, api.ReadingCorrection{Timestamp: day.Add(time.Duration(i) * time.Minute), Time: day.Add(time.Hour)})
		}
		r.corrections += len(items)
		v = map[string]any{"items": items}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, v) // to memory
}

func serviceOf(r *records) *Service {
	return &Service{Config{Handler: func() http.Handler { return r }, Revisions: r.history}}
}

// caller is somebody who claims.
func caller(t *testing.T) context.Context {
	t.Helper()
	return web.WithCaller(t.Context(), web.Caller{Workspace: "w", DID: "did:x:claimant", Scopes: []string{"*"}})
}

// TestEvidenceCost names one thing a hundred times, and a hundred states of one: what is
// looked at does not grow with how often something is named, nor with how long its history
// is.
func TestEvidenceCost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		piece     func(i int) map[string]any
		revisions int
	}{
		"one state": {func(int) map[string]any { return map[string]any{"type": "entity", "id": "did:x:stove", "revision": 1} }, 1},
		"a state each": {func(i int) map[string]any {
			return map[string]any{"type": "entity", "id": "did:x:stove", "revision": 100 + i}
		}, maxPieces},
		"the newest":  {func(int) map[string]any { return map[string]any{"type": "entity", "id": "did:x:stove"} }, 1},
		"a twin each": {func(i int) map[string]any { return map[string]any{"type": "entity", "id": fmt.Sprint("did:x:", i)} }, maxPieces},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &records{}
			var pieces []any
			for i := range maxPieces {
				pieces = append(pieces, tt.piece(i))
			}
			if err := serviceOf(r).Fix(caller(t), &api.ClaimDraft{Evidence: pieces}); err != nil {
				t.Fatal(err)
			}
			if r.revisions > tt.revisions || r.requests > tt.revisions {
				t.Errorf("a claim looks at %d revisions by %d requests, want %d at most", r.revisions, r.requests, tt.revisions)
			}
			for i, v := range pieces {
				p, err := parse(v)
				want := tt.piece(i)["revision"]
				if want == nil {
					want = newestRevision
				}
				if err != nil || fmt.Sprint(p.Revision) != fmt.Sprint(want) || p.Hash != fmt.Sprintf("hash %d", p.Revision) {
					t.Fatalf("piece %d is completed as %+v, %v, want revision %v", i, p, err, want)
				}
			}
			r.claim = api.Claim{ID: "c", Document: &api.ClaimBody{}}
			for _, v := range pieces {
				text, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				r.claim.Document.Evidence = append(r.claim.Document.Evidence, string(text))
			}
			r.revisions, r.requests = 0, 0
			got, err := serviceOf(r).Evidence(caller(t), "c")
			if err != nil || len(got.Items) != maxPieces {
				t.Fatalf("evidence is %d pieces, %v", len(got.Items), err)
			}
			for i, p := range got.Items {
				if p.State != same || p.Index != i {
					t.Fatalf("piece %d is %+v, want the same", i, p)
				}
			}
			if r.revisions > tt.revisions || r.requests > tt.revisions+1 {
				t.Errorf("its evidence looks at %d revisions by %d requests, want %d at most", r.revisions, r.requests, tt.revisions)
			}
		})
	}
}

// TestEvidenceOfNoRevision names states that are not there, or not any more.
func TestEvidenceOfNoRevision(t *testing.T) {
	t.Parallel()
	l := serviceOf(&records{}).lookup()
	for revision, want := range map[int64]error{newestRevision + 1: errNotThere, -1: errNotThere, 1<<63 - 1: errNotThere, 7: errGone, newestRevision: nil} {
		if _, err := l.twin(t.Context(), &api.ClaimEvidence{ID: "x", Revision: revision}); err != want {
			t.Errorf("revision %d: %v, want %v", revision, err, want)
		}
	}
}

// TestCorrectionsCost has pieces name readings of times of their own, of few devices and of
// many: 1,000 corrections are looked at for the claim, and those of a device once.
func TestCorrectionsCost(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for devices, want := range map[int]int{1: 400, 2: 800, maxPieces: 1200} { // a page that was begun was read
		r := &records{claim: api.Claim{ID: "c", Submitted: day, Document: &api.ClaimBody{}}}
		for i := range maxPieces {
			from := day.Add(time.Duration(i) * time.Minute)
			r.claim.Document.Evidence = append(r.claim.Document.Evidence, fmt.Sprintf(`{"type":"readings","id":"did:x:%d","from":%q,"to":%q,"hash":"x"}`,
				i%devices, from.Format(time.RFC3339), from.Add(2*time.Minute).Format(time.RFC3339)))
		}
		got, err := serviceOf(r).Evidence(caller(t), "c")
		if err != nil {
			t.Fatal(err)
		}
		if r.corrections != want {
			t.Errorf("of %d devices %d corrections were read, want %d", devices, r.corrections, want)
		}
		for i, p := range got.Items {
			seen := 2
			if i%devices > 2 {
				seen = 0
			}
			if p.State != changed || p.Corrections != seen {
				t.Fatalf("of %d devices, piece %d is %+v, want %d corrections", devices, i, p, seen)
			}
		}
	}
}
