package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/client"
)

func asError(t *testing.T, err error) *client.Error {
	t.Helper()
	e := new(client.Error)
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a *client.Error in it", err)
	}
	return e
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		head   string // of Retry-After
		body   string
		want   client.Error
	}{
		"problem": {
			400, "", `{"status":400,"code":"KEY_DRAFT_INVALID","detail":"The new key is not valid.","message":"The new key is not valid.",` +
				`"requestId":"r9","errors":[{"pointer":"/name","code":"required","detail":"This is required.","field":"name"}]}`,
			client.Error{
				Status: 400, Code: "KEY_DRAFT_INVALID", Message: "The new key is not valid.", RequestID: "r1",
				Fields: []client.Field{{Pointer: "/name", Code: "required", Detail: "This is required."}},
			},
		},
		"stale": {
			412, "", `{"code":"STALE_REVISION","detail":"x","current":{"etag":"\"7\""}}`,
			client.Error{Status: 412, Code: "STALE_REVISION", Message: "x", RequestID: "r1", Current: &client.Current{ETag: `"7"`}},
		},
		"conflict": {
			409, "", `{"code":"RESPONSE_CONFLICT","detail":"x","current":{"etag":"\"2\"","revision":2,"href":"/v1/responses/r"},` +
				`"differences":[{"pointer":"/responses/home/size","stored":4,"sent":5},{"pointer":"/householdId","masked":true}]}`,
			client.Error{
				Status: 409, Code: "RESPONSE_CONFLICT", Message: "x", RequestID: "r1", Current: &client.Current{ETag: `"2"`, Revision: 2, Href: "/v1/responses/r"},
				Differences: []client.ResponseDifference{{Pointer: "/responses/home/size", Stored: 4.0, Sent: 5.0}, {Pointer: "/householdId", Masked: true}},
			},
		},
		"duplicate": {
			409, "", `{"code":"DUPLICATE_HOUSEHOLD_RESPONSE","detail":"x","existing":{"responseId":"r","href":"/v1/responses/r"}}`,
			client.Error{
				Status: 409, Code: "DUPLICATE_HOUSEHOLD_RESPONSE", Message: "x", RequestID: "r1",
				Existing: &client.ExistingResponse{ResponseID: "r", Href: "/v1/responses/r"},
			},
		},
		"ambiguous": {
			409, "", `{"code":"AMBIGUOUS_SURVEY","detail":"x","candidates":[{"surveyId":"s","href":"/v1/surveys/s"}]}`,
			client.Error{
				Status: 409, Code: "AMBIGUOUS_SURVEY", Message: "x", RequestID: "r1",
				Candidates: []client.SurveyCandidate{{SurveyID: "s", Href: "/v1/surveys/s"}},
			},
		},
		"other dialect":    {404, "", `{"message":"Cannot GET /x","error":"Not Found","statusCode":404}`, client.Error{Status: 404, Message: "Cannot GET /x", RequestID: "r1"}},
		"list of texts":    {400, "", `{"message":["a","b"],"statusCode":400}`, client.Error{Status: 400, Message: "a b", RequestID: "r1"}},
		"text":             {502, "", "<html>bad gateway\n", client.Error{Status: 502, Message: "<html>bad gateway", RequestID: "r1"}},
		"nothing":          {403, "", "", client.Error{Status: 403, Message: "Forbidden", RequestID: "r1"}},
		"wait":             {404, "3", `{}`, client.Error{Status: 404, RequestID: "r1", RetryAfter: 3 * time.Second}},
		"wait, bad":        {404, "-3", `{}`, client.Error{Status: 404, RequestID: "r1"}},
		"not an object":    {400, "", `[1]`, client.Error{Status: 400, Message: "[1]", RequestID: "r1"}},
		"message a number": {400, "", `{"message":7}`, client.Error{Status: 400, RequestID: "r1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-Id", "r1")
				if tt.head != "" {
					w.Header().Set("Retry-After", tt.head)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			})
			_, err := c.Jobs.Cancel(t.Context(), "j") // never repeated
			if diff := cmp.Diff(tt.want, *asError(t, err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got := client.CodeOf(err); got != tt.want.Code {
				t.Errorf("CodeOf() = %q, want %q", got, tt.want.Code)
			}
			for _, part := range []string{"POST /v1/jobs/j/cancel", tt.want.Code, tt.want.Message, "r1"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error text %q, want %q in it", err, part)
				}
			}
		})
	}
}

func TestBrokenAnswerIsNoSuccess(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{", `{"id":7}`, `[]`, `{"id":"a","id":"b"}`} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		if k, err := c.Keys.Current(t.Context()); err == nil {
			t.Errorf("answer %q gave %+v, want an error", body, k)
		}
	}
	if got := client.CodeOf(errors.New("x")); got != "" {
		t.Errorf("CodeOf(no refusal) = %q, want nothing", got)
	}
}
