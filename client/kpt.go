package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hearth-dmrv/hearth/api"
)

// KitchenTests is kitchen performance tests.
type KitchenTests struct{ c *Client }

// Types of package api.
type (
	KitchenTestDraft    = api.KitchenTestDraft
	KitchenTestPeriod   = api.KitchenTestPeriod
	KitchenTestFuel     = api.KitchenTestFuel
	KitchenTestPeople   = api.KitchenTestPeople
	KitchenTestChoice   = api.KitchenTestChoice
	KitchenTestFactors  = api.KitchenTestFactors
	KitchenTestSession  = api.KitchenTestSession
	KitchenTest         = api.KitchenTest
	KitchenTestRevision = api.KitchenTestRevision
	KitchenTestAnalysis = api.KitchenTestAnalysis
	KitchenTestGroup    = api.KitchenTestGroup
	KitchenTestSaving   = api.KitchenTestSaving
)

const kptPath = "/v1/kpt"

func kitchenPath(id string) string { return kptPath + "/" + url.PathEscape(id) }

// Record stores a test. Codes: KPT_INVALID, KPT_EXISTS, KPT_OVERLAPS,
// HOUSEHOLD_UNKNOWN, HOUSEHOLD_ERASED.
func (k KitchenTests) Record(ctx context.Context, d KitchenTestDraft, opts ...Option) (*KitchenTest, error) {
	return do[KitchenTest](ctx, k.c, post(kptPath, d), opts)
}

// Get reads a test. Code: KPT_NOT_FOUND.
func (k KitchenTests) Get(ctx context.Context, id string, opts ...Option) (*KitchenTest, error) {
	return do[KitchenTest](ctx, k.c, get(kitchenPath(id), nil), opts)
}

// KitchenTestQuery narrows a list of tests; empty members are ignored.
type KitchenTestQuery struct {
	ProjectID, HouseholdID, TestGroup, Status, Fuel string
}

// List walks over tests, newest first.
func (k KitchenTests) List(ctx context.Context, q KitchenTestQuery, opts ...Option) iter.Seq2[KitchenTest, error] {
	v := url.Values{}
	for name, value := range map[string]string{"projectId": q.ProjectID, "householdId": q.HouseholdID, "testGroup": q.TestGroup, "status": q.Status, "fuel": q.Fuel} {
		set(v, name, value)
	}
	return pages[KitchenTest](ctx, k.c, kptPath, v, opts)
}

// Correct replaces a recorded test, with a reason. Send the revision you have
// read with IfMatch. Codes: KPT_LOCKED, NOT_RECORDER, STALE_REVISION.
func (k KitchenTests) Correct(ctx context.Context, id, reason string, d KitchenTestDraft, opts ...Option) (*KitchenTest, error) {
	return do[KitchenTest](ctx, k.c, call{method: http.MethodPut, path: kitchenPath(id), query: url.Values{"reason": {reason}}, body: d}, opts)
}

// Withdraw takes a test out of all figures, with a reason. Codes are those of
// Correct.
func (k KitchenTests) Withdraw(ctx context.Context, id, reason string, opts ...Option) (*KitchenTest, error) {
	return do[KitchenTest](ctx, k.c, call{method: http.MethodDelete, path: kitchenPath(id), query: url.Values{"reason": {reason}}}, opts)
}

// History walks over the revisions of a test, newest first.
func (k KitchenTests) History(ctx context.Context, id string, opts ...Option) iter.Seq2[KitchenTestRevision, error] {
	return pages[KitchenTestRevision](ctx, k.c, kitchenPath(id)+"/history", url.Values{}, opts)
}

// KitchenTestFigures selects the figures of tests; ProjectID is required.
type KitchenTestFigures struct {
	ProjectID  string
	Fuel       string  // wood for ""
	Per        string  // household, head or adult
	Design     string  // concurrent or paired
	From, To   string  // days
	Confidence float64 // 0.9 for 0
	Tail       string  // two or one
	Precision  float64 // 0.1 for 0
}

// Analyse reads what the tests of a project say, with its uncertainty. Codes:
// KPT_TOO_MANY, UNITS_MIXED.
func (k KitchenTests) Analyse(ctx context.Context, q KitchenTestFigures, opts ...Option) (*KitchenTestAnalysis, error) {
	return do[KitchenTestAnalysis](ctx, k.c, get(kptPath+"/analysis", q.values()), opts)
}

// Picture draws what the tests of a project say, as SVG. Close it. Codes are those
// of Analyse.
func (k KitchenTests) Picture(ctx context.Context, q KitchenTestFigures, opts ...Option) (io.ReadCloser, error) {
	v := q.values()
	v.Set("format", "svg")
	return k.c.download(ctx, get(kptPath+"/analysis", v), opts)
}

func (q KitchenTestFigures) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"projectId": q.ProjectID, "fuel": q.Fuel, "per": q.Per, "design": q.Design, "from": q.From, "to": q.To, "tail": q.Tail} {
		set(v, name, value)
	}
	for name, value := range map[string]float64{"confidence": q.Confidence, "precision": q.Precision} {
		if value != 0 {
			v.Set(name, strconv.FormatFloat(value, 'g', -1, 64))
		}
	}
	return v
}
