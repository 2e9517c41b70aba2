package client

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Every method sends what the server reads.
func TestResponseCalls(t *testing.T) {
	t.Parallel()
	draft := ResponseDraft{
		ResponseID: "r1", SurveyID: "s1", HouseholdID: "did:ixo:household/123", Timestamp: time.Date(2024, 2, 20, 10, 0, 0, 0, time.UTC),
		Responses: Answers{"socio_economic": {"household_size": 5}},
	}
	const body = `{"responseId":"r1","surveyId":"s1","householdId":"did:ixo:household/123","timestamp":"2024-02-20T10:00:00Z","responses":{"socio_economic":{"household_size":5}}}`
	for _, tt := range []struct {
		name string
		call func(ctx context.Context, r Responses, a Attachments) error
		want string
	}{
		{"submit", func(ctx context.Context, r Responses, _ Attachments) error { return fails(r.Submit(ctx, draft)) }, `POST /v1/responses ` + body},
		{"submit to", func(ctx context.Context, r Responses, _ Attachments) error {
			return fails(r.SubmitTo(ctx, "s1", draft))
		}, `POST /v1/surveys/s1/responses ` + body},
		{"get", func(ctx context.Context, r Responses, _ Attachments) error { return fails(r.Get(ctx, "r:1")) }, `GET /v1/responses/r:1 `},
		{"some fields", func(ctx context.Context, r Responses, _ Attachments) error {
			return fails(r.At(ctx, "r1", 3, Fields("status", "responses.home.size")))
		}, `GET /v1/responses/r1?at=3&fields=status%2Cresponses.home.size `},
		{"JSON patch", func(ctx context.Context, r Responses, _ Attachments) error {
			return fails(r.JSONPatch(ctx, "r1", []PatchStep{{Op: "copy", From: "/a", Path: "/b"}}, IfRevision(2)))
		}, `PATCH /v1/responses/r1 [{"from":"/a","op":"copy","path":"/b"}] "2"`},
		{"at", func(ctx context.Context, r Responses, _ Attachments) error { return fails(r.At(ctx, "r1", 3)) }, `GET /v1/responses/r1?at=3 `},
		{"page", func(ctx context.Context, r Responses, _ Attachments) error {
			return fails(r.Page(ctx, "s1", ResponseQuery{Verification: "verified", Filter: "eq(mode,visit)", Limit: 7, Cursor: "x"}))
		}, `GET /v1/surveys/s1/responses?cursor=x&filter=eq%28mode%2Cvisit%29&limit=7&verification=verified `},
		{"list", func(ctx context.Context, r Responses, _ Attachments) error {
			return first(r.List(ctx, "s1", ResponseQuery{}))
		}, `GET /v1/surveys/s1/responses `},
		{"of household", func(ctx context.Context, r Responses, _ Attachments) error {
			return first(r.OfHousehold(ctx, "did:x:y", PageQuery{}))
		}, `GET /v1/responses?householdId=did%3Ax%3Ay `},
		{"standing", func(ctx context.Context, r Responses, _ Attachments) error {
			return first(r.Standing(ctx, "pending", PageQuery{}))
		}, `GET /v1/responses?verification=pending `},
		{"replace", func(ctx context.Context, r Responses, _ Attachments) error {
			return fails(r.Replace(ctx, "r1", draft, IfRevision(2), Reason("why")))
		}, `PUT /v1/responses/r1?reason=why ` + body + ` "2"`},
		{"patch", func(ctx context.Context, r Responses, _ Attachments) error {
			return fails(r.Patch(ctx, "r1", Object{"language": nil}, IfRevision(2)))
		}, `PATCH /v1/responses/r1 {"language":null} "2"`},
		{"redact", func(ctx context.Context, r Responses, _ Attachments) error {
			return fails(r.Redact(ctx, "r1", "why", IfRevision(2)))
		}, `DELETE /v1/responses/r1?reason=why  "2"`},
		{"history", func(ctx context.Context, r Responses, _ Attachments) error {
			return first(r.History(ctx, "r1", PageQuery{Limit: 5}))
		}, `GET /v1/responses/r1/history?limit=5 `},
		{"batch", func(ctx context.Context, r Responses, _ Attachments) error {
			return fails(r.Batch(ctx, []ResponseDraft{draft}))
		}, `POST /v1/responses:batch {"items":[` + body + `]}`},
		{"conflicts", func(ctx context.Context, r Responses, _ Attachments) error {
			return first(r.Conflicts(ctx, "s1", true, PageQuery{}))
		}, `GET /v1/surveys/s1/conflicts?resolved=true `},
		{"conflict", func(ctx context.Context, r Responses, _ Attachments) error { return fails(r.Conflict(ctx, "s1", "c1")) }, `GET /v1/surveys/s1/conflicts/c1 `},
		{"resolve", func(ctx context.Context, r Responses, _ Attachments) error {
			return fails(r.Resolve(ctx, "s1", "c1", ConflictResolution{Keep: "sent"}))
		}, `POST /v1/surveys/s1/conflicts/c1/resolve {"keep":"sent"}`},
		{"put", func(ctx context.Context, _ Responses, a Attachments) error {
			return fails(a.Put(ctx, "abc", "image/png", strings.NewReader("bytes")))
		}, `PUT /v1/attachments/abc bytes`},
		{"read", func(ctx context.Context, _ Responses, a Attachments) error {
			f, err := a.Get(ctx, "abc")
			if err == nil {
				err = f.Close()
			}
			return err
		}, `GET /v1/attachments/abc `},
		{"has", func(ctx context.Context, _ Responses, a Attachments) error { return fails(a.Has(ctx, "abc")) }, `HEAD /v1/attachments/abc `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sends(t, tt.want, func(ctx context.Context, c *Client) error { return tt.call(ctx, Responses{c}, Attachments{c}) })
		})
	}
}

// A file that is not there is no error.
func TestHasNoAttachment(t *testing.T) {
	t.Parallel()
	c := served(t, http.NotFound)
	if there, err := (Attachments{c}).Has(t.Context(), "abc"); there || err != nil {
		t.Errorf("has = %v, %v", there, err)
	}
}
