package client

import (
	"context"
	"testing"
	"time"
)

// Every method sends what the server reads.
func TestSurveyCalls(t *testing.T) {
	t.Parallel()
	const house, home = "did:ixo:household/123", "did:ixo:household%2F123"
	size, rural := 100.0, "rural"
	draft := SurveyDraft{Type: "BaselineSurvey", ProjectID: "did:ixo:entity:123", SurveyContent: SurveyContent{
		Template: &SurveyFlags{EligibilityCriteria: true}, Sampling: &SurveySampling{Method: "stratified", Size: &size},
	}}
	for _, tt := range []struct {
		name string
		call func(ctx context.Context, s Surveys) error
		want string
	}{
		{
			"create", func(ctx context.Context, s Surveys) error { return fails(s.Create(ctx, draft)) },
			`POST /v1/surveys {"type":"BaselineSurvey","projectId":"did:ixo:entity:123","template":{"eligibilityCriteria":true,"socioEconomicData":false,"cookingPatterns":false,"stovePerceptions":false},"sampling":{"method":"stratified","size":100}}`,
		},
		{"get", func(ctx context.Context, s Surveys) error { return fails(s.Get(ctx, "s1")) }, `GET /v1/surveys/s1 `},
		{"page", func(ctx context.Context, s Surveys) error {
			return fails(s.Page(ctx, SurveyQuery{Project: "p", Status: "active", Stage: "baseline", Template: "t", Limit: 7, Cursor: "x"}))
		}, `GET /v1/surveys?cursor=x&limit=7&projectId=p&stage=baseline&status=active&templateId=t `},
		{"list", func(ctx context.Context, s Surveys) error {
			return first(s.List(ctx, SurveyQuery{}))
		}, `GET /v1/surveys `},
		{"patch", func(ctx context.Context, s Surveys) error {
			return fails(s.Patch(ctx, "s1", Object{"name": nil}, IfRevision(3)))
		}, `PATCH /v1/surveys/s1 {"name":null} "3"`},
		{"JSON patch", func(ctx context.Context, s Surveys) error {
			return fails(s.JSONPatch(ctx, "s1", []PatchStep{{Op: "test", Path: "/name", Value: nil}}, IfRevision(3)))
		}, `PATCH /v1/surveys/s1 [{"op":"test","path":"/name","value":null}] "3"`},
		{"some fields", func(ctx context.Context, s Surveys) error {
			return fails(s.Page(ctx, SurveyQuery{Limit: 7}, Fields("name", "sampling.size")))
		}, `GET /v1/surveys?fields=name%2Csampling.size&limit=7 `},
		{"JSON patch of a household", func(ctx context.Context, s Surveys) error {
			return fails(s.JSONPatchHousehold(ctx, "s1", house, []PatchStep{{Op: "remove", Path: "/area"}}, IfRevision(3)))
		}, `PATCH /v1/surveys/s1/households/` + home + ` [{"op":"remove","path":"/area"}] "3"`},
		{"delete", func(ctx context.Context, s Surveys) error { return fails(s.Delete(ctx, "s1", IfRevision(3))) }, `DELETE /v1/surveys/s1  "3"`},
		{"clone", func(ctx context.Context, s Surveys) error { return fails(s.Clone(ctx, "s1", SurveyClone{Name: "x"})) }, `POST /v1/surveys/s1/clone {"name":"x"}`},
		{"ready", func(ctx context.Context, s Surveys) error { return fails(s.Ready(ctx, "s1", "")) }, `POST /v1/surveys/s1/ready {}`},
		{"activate", func(ctx context.Context, s Surveys) error { return fails(s.Activate(ctx, "s1", "x", IfRevision(2))) }, `POST /v1/surveys/s1/activate {"reason":"x"} "2"`},
		{"pause", func(ctx context.Context, s Surveys) error { return fails(s.Pause(ctx, "s1", "")) }, `POST /v1/surveys/s1/pause {}`},
		{"resume", func(ctx context.Context, s Surveys) error { return fails(s.Resume(ctx, "s1", "")) }, `POST /v1/surveys/s1/resume {}`},
		{"close", func(ctx context.Context, s Surveys) error { return fails(s.Close(ctx, "s1", "")) }, `POST /v1/surveys/s1/close {}`},
		{"reopen", func(ctx context.Context, s Surveys) error { return fails(s.Reopen(ctx, "s1", "x")) }, `POST /v1/surveys/s1/reopen {"reason":"x"}`},
		{"archive", func(ctx context.Context, s Surveys) error { return fails(s.Archive(ctx, "s1", "")) }, `POST /v1/surveys/s1/archive {}`},
		{"open a round", func(ctx context.Context, s Surveys) error {
			return fails(s.OpenRound(ctx, "s1", NextRound{Name: "2", Window: &SurveyWindow{End: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}}))
		}, `POST /v1/surveys/s1/rounds {"name":"2","window":{"end":"2026-01-02T00:00:00Z"}}`},
		{"rounds", func(ctx context.Context, s Surveys) error { return fails(s.Rounds(ctx, "s1")) }, `GET /v1/surveys/s1/rounds `},
		{"collectors", func(ctx context.Context, s Surveys) error { return fails(s.Collectors(ctx, "s1")) }, `GET /v1/surveys/s1/collectors `},
		{"set collectors", func(ctx context.Context, s Surveys) error {
			return fails(s.SetCollectors(ctx, "s1", CollectorList{[]Collector{{DID: "did:x:y"}}}, IfRevision(1)))
		}, `PUT /v1/surveys/s1/collectors {"items":[{"did":"did:x:y"}]} "1"`},
		{"assignments", func(ctx context.Context, s Surveys) error { return fails(s.Assignments(ctx, "s1")) }, `GET /v1/surveys/s1/assignments `},
		{"set assignments", func(ctx context.Context, s Surveys) error {
			return fails(s.SetAssignments(ctx, "s1", AssignmentList{[]SurveyAssignment{{Collector: "did:x:y", Load: 2}}}, IfRevision(1)))
		}, `PUT /v1/surveys/s1/assignments {"items":[{"collector":"did:x:y","load":2}]} "1"`},
		{"progress", func(ctx context.Context, s Surveys) error { return fails(s.Progress(ctx, "s1", 2)) }, `GET /v1/surveys/s1/progress?round=2 `},
		{"history", func(ctx context.Context, s Surveys) error {
			return first(s.History(ctx, "s1", PageQuery{Limit: 5}))
		}, `GET /v1/surveys/s1/history?limit=5 `},
		{"at", func(ctx context.Context, s Surveys) error { return fails(s.At(ctx, "s1", 4)) }, `GET /v1/surveys/s1/history/4 `},
		{"add households", func(ctx context.Context, s Surveys) error {
			return fails(s.AddHouseholds(ctx, "s1", []HouseholdItem{{HouseholdID: house, Stratum: &rural, Location: &Place{Lat: 1, Lon: 2}}}))
		}, `POST /v1/surveys/s1/households {"items":[{"householdId":"did:ixo:household/123","stratum":"rural","location":{"lat":1,"lon":2}}]}`},
		{"household page", func(ctx context.Context, s Surveys) error {
			return fails(s.HouseholdPage(ctx, "s1", ListedQuery{Stratum: "a", Group: "adopter", Area: "b", Outcome: "refused", Collector: "c"}))
		}, `GET /v1/surveys/s1/households?area=b&collector=c&group=adopter&outcome=refused&stratum=a `},
		{"households", func(ctx context.Context, s Surveys) error {
			return first(s.Households(ctx, "s1", ListedQuery{}))
		}, `GET /v1/surveys/s1/households `},
		{"household", func(ctx context.Context, s Surveys) error { return fails(s.Household(ctx, "s1", house)) }, `GET /v1/surveys/s1/households/` + home + ` `},
		{"patch household", func(ctx context.Context, s Surveys) error {
			return fails(s.PatchHousehold(ctx, "s1", house, Object{"area": "x"}, IfRevision(2)))
		}, `PATCH /v1/surveys/s1/households/` + home + ` {"area":"x"} "2"`},
		{"remove household", func(ctx context.Context, s Surveys) error {
			return fails(s.RemoveHousehold(ctx, "s1", house, IfRevision(2)))
		}, `DELETE /v1/surveys/s1/households/` + home + `  "2"`},
		{"outcome", func(ctx context.Context, s Surveys) error { return fails(s.SetOutcome(ctx, "s1", house, "refused")) }, `POST /v1/surveys/s1/households/` + home + `/outcome {"outcome":"refused"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sends(t, tt.want, func(ctx context.Context, c *Client) error { return tt.call(ctx, Surveys{c}) })
		})
	}
}
