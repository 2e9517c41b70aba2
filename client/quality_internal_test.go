package client

import (
	"context"
	"testing"
)

// Every method of verification and quality sends what the server reads.
func TestQualityCalls(t *testing.T) {
	t.Parallel()
	yes := true
	for _, tt := range []struct {
		name string
		call func(ctx context.Context, v Verifications, q Quality) error
		want string
	}{
		{"decide", func(ctx context.Context, v Verifications, _ Quality) error {
			return fails(v.Decide(ctx, "r:1", DecisionDraft{Status: "rejected", Reason: "why", Notes: "n"}, IfRevision(3)))
		}, `POST /v1/responses/r:1/verification {"status":"rejected","reason":"why","notes":"n"} "3"`},
		{"state", func(ctx context.Context, v Verifications, _ Quality) error { return fails(v.Get(ctx, "r1")) }, `GET /v1/responses/r1/verification `},
		{"decisions", func(ctx context.Context, v Verifications, _ Quality) error {
			return fails(v.Page(ctx, "r1", PageQuery{Limit: 5}))
		}, `GET /v1/responses/r1/verification/history?limit=5 `},
		{"all decisions", func(ctx context.Context, v Verifications, _ Quality) error {
			return first(v.List(ctx, "r1"))
		}, `GET /v1/responses/r1/verification/history `},
		{"bulk", func(ctx context.Context, v Verifications, _ Quality) error {
			return fails(v.Bulk(ctx, "s", BulkDecision{DecisionDraft: DecisionDraft{Status: "verified"}, Filter: &BulkFilter{Status: "pending", AsOf: 7, Flagged: &yes, After: "r1"}}))
		}, `POST /v1/surveys/s/verification:bulk {"status":"verified","filter":{"status":"pending","asOf":7,"flagged":true,"after":"r1"}}`},
		{"bulk of some", func(ctx context.Context, v Verifications, _ Quality) error {
			return fails(v.Bulk(ctx, "s", BulkDecision{DecisionDraft: DecisionDraft{Status: "verified"}, Responses: []JudgedResponse{{"r1", 3}}}))
		}, `POST /v1/surveys/s/verification:bulk {"status":"verified","responses":[{"responseId":"r1","revision":3}]}`},
		{"evidence", func(ctx context.Context, v Verifications, _ Quality) error { return fails(v.Evidence(ctx, "rec~1")) }, `GET /v1/responses/rec~1/evidence `},
		{"file of the evidence", func(ctx context.Context, v Verifications, _ Quality) error {
			return fails(v.EvidenceFile(ctx, "r1", "abc"))
		}, `GET /v1/responses/r1/evidence/abc `},
		{"report", func(ctx context.Context, _ Verifications, q Quality) error { return fails(q.Report(ctx, "s", 2)) }, `GET /v1/surveys/s/quality?round=2 `},
		{"cross-reference", func(ctx context.Context, _ Verifications, q Quality) error {
			return fails(q.CrossReference(ctx, "s", CrossReferenceDraft{Question: "home/uses", Days: 7}))
		}, `POST /v1/surveys/s/cross-reference {"question":"home/uses","days":7}`},
		{"cross-references", func(ctx context.Context, _ Verifications, q Quality) error {
			return fails(q.CrossReferencePage(ctx, "s", PageQuery{Limit: 5}))
		}, `GET /v1/surveys/s/cross-reference?limit=5 `},
		{"all cross-references", func(ctx context.Context, _ Verifications, q Quality) error { return first(q.CrossReferences(ctx, "s")) }, `GET /v1/surveys/s/cross-reference `},
		{"result", func(ctx context.Context, _ Verifications, q Quality) error {
			return fails(q.GetCrossReference(ctx, "s", "xrf_1"))
		}, `GET /v1/surveys/s/cross-reference/xrf_1 `},
		{"pairs", func(ctx context.Context, _ Verifications, q Quality) error {
			return fails(q.CrossPairPage(ctx, "s", "xrf_1", PageQuery{Limit: 5}))
		}, `GET /v1/surveys/s/cross-reference/xrf_1/pairs?limit=5 `},
		{"all pairs", func(ctx context.Context, _ Verifications, q Quality) error {
			return first(q.CrossPairs(ctx, "s", "xrf_1"))
		}, `GET /v1/surveys/s/cross-reference/xrf_1/pairs `},
		{"run", func(ctx context.Context, _ Verifications, q Quality) error { return fails(q.Run(ctx, "s", 0)) }, `POST /v1/surveys/s/quality/runs {}`},
		{"run of a round", func(ctx context.Context, _ Verifications, q Quality) error { return fails(q.Run(ctx, "s", 3)) }, `POST /v1/surveys/s/quality/runs {"round":3}`},
		{"rules", func(ctx context.Context, _ Verifications, q Quality) error { return fails(q.Rules(ctx, "s")) }, `GET /v1/surveys/s/quality/rules `},
		{"set rules", func(ctx context.Context, _ Verifications, q Quality) error {
			return fails(q.SetRules(ctx, "s", QualityRules{OutlierZ: 4, Off: []string{"outlier"}}, IfRevision(1)))
		}, `PUT /v1/surveys/s/quality/rules {"off":["outlier"],"outlierZ":4} "1"`},
		{"flags", func(ctx context.Context, _ Verifications, q Quality) error {
			return fails(q.FlagPage(ctx, "s", FlagQuery{Rule: "outlier", Collector: "did:x:y", Round: 1, Limit: 9}))
		}, `GET /v1/surveys/s/flags?collector=did%3Ax%3Ay&limit=9&round=1&rule=outlier `},
		{"settle a flag", func(ctx context.Context, _ Verifications, q Quality) error {
			_, err := q.SettleFlag(ctx, "s", FlagOutcome{ResponseID: "r", Rule: "outlier", Outcome: "explained", Note: "seen", Revision: 3})
			return err
		}, `POST /v1/surveys/s/flags:settle {"responseId":"r","rule":"outlier","outcome":"explained","note":"seen","revision":3}`},
		{"all flags", func(ctx context.Context, _ Verifications, q Quality) error {
			return first(q.Flags(ctx, "s", FlagQuery{}))
		}, `GET /v1/surveys/s/flags `},
		{"draw", func(ctx context.Context, _ Verifications, q Quality) error {
			return fails(q.Draw(ctx, "s", DrawDraft{Seed: "z", Share: 0.1, PerCollector: 2}))
		}, `POST /v1/surveys/s/back-checks:draw {"seed":"z","share":0.1,"perCollector":2}`},
		{"back-checks", func(ctx context.Context, _ Verifications, q Quality) error {
			return fails(q.BackCheckPage(ctx, "s", BackCheckQuery{State: "drawn"}))
		}, `GET /v1/surveys/s/back-checks?state=drawn `},
		{"all back-checks", func(ctx context.Context, _ Verifications, q Quality) error {
			return first(q.BackChecks(ctx, "s", BackCheckQuery{}))
		}, `GET /v1/surveys/s/back-checks `},
		{"back-check", func(ctx context.Context, _ Verifications, q Quality) error {
			return fails(q.BackCheck(ctx, "s", "bck_1"))
		}, `GET /v1/surveys/s/back-checks/bck_1 `},
		{"answer", func(ctx context.Context, _ Verifications, q Quality) error {
			return fails(q.AnswerBackCheck(ctx, "s", "bck_1", BackCheckOutcome{Responses: Answers{"home": {"size": 5}}}))
		}, `POST /v1/surveys/s/back-checks/bck_1 {"responses":{"home":{"size":5}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sends(t, tt.want, func(ctx context.Context, c *Client) error { return tt.call(ctx, Verifications{c}, Quality{c}) })
		})
	}
}
