package fleet

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/test/server"
)

// object is a JSON object.
type object = map[string]any

// rounds is how often a test repeats itself: HEARTH_FLEET_ROUNDS, or a few times.
func rounds() int {
	n, err := strconv.Atoi(os.Getenv("HEARTH_FLEET_ROUNDS"))
	if err != nil || n < 1 {
		return 9
	}
	return n
}

// clients call nodes with the owner key.
func clients(t *testing.T, all []*server.Server) []*server.Client {
	t.Helper()
	out := make([]*server.Client, len(all))
	for i, s := range all {
		out[i] = s.Client(4)
		t.Cleanup(out[i].Close)
	}
	return out
}

// call sends a request, such as "GET /v1/nodes", that must be answered with a
// status.
func call(t *testing.T, c *server.Client, want int, request string, body any) *server.Answer {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	got, err := c.Do(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	if got.Status != want {
		t.Fatalf("%s = %d %s, want %d", request, got.Status, got.Body, want)
	}
	return got
}

// decode reads an answer.
func decode[T any](t *testing.T, a *server.Answer) T {
	t.Helper()
	var out T
	if err := a.JSON(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// as is c with another key.
func as(c *server.Client, key string) *server.Client {
	return &server.Client{URL: c.URL, Key: key, HTTP: c.HTTP}
}

// slowest says how long the slowest change took to be answered.
func slowest(t *testing.T, took time.Duration, change func()) time.Duration {
	t.Helper()
	begin := time.Now()
	change()
	return max(took, time.Since(begin))
}

// TestKeys: a key that was revoked at one server is refused by all once that was
// answered, and one that was made works.
func TestKeys(t *testing.T) {
	t.Parallel()
	all := clients(t, nodes(t, 3))
	var took time.Duration
	for i := range rounds() {
		writer := all[i%len(all)]
		key := decode[struct {
			ID  string `json:"id"`
			Key string `json:"key"`
		}](t, call(t, writer, 201, "POST /v1/api-keys", object{"name": fmt.Sprint("round ", i), "scopes": []string{"entities:read"}}))
		for range 2 { // the second is answered from memory
			for _, c := range all {
				call(t, as(c, key.Key), 200, "GET /v1/api-keys/current", nil)
			}
		}
		took = slowest(t, took, func() { call(t, writer, 200, "DELETE /v1/api-keys/"+key.ID, nil) })
		for _, c := range all {
			// 429: too many of these came from one address; a good key never gets it.
			if got, err := as(c, key.Key).Do(t.Context(), "GET", "/v1/api-keys/current", nil); err != nil || got.Status != 401 && got.Status != 429 {
				t.Fatalf("round %d: a revoked key is answered %+v, %v", i, got, err)
			}
		}
	}
	t.Logf("%d rounds, slowest revocation %s", rounds(), took)
}

// TestSurveys: a survey that was paused at one server takes no response anywhere
// once that was answered, and takes them again when it was resumed.
func TestSurveys(t *testing.T) {
	t.Parallel()
	all := clients(t, nodes(t, 3))
	made := decode[struct {
		SurveyID string `json:"surveyId"`
	}](t, call(t, all[0], 201, "POST /v1/surveys", object{
		"type": "BaselineSurvey", "projectId": "did:ixo:entity:123", "template": object{"eligibilityCriteria": true, "socioEconomicData": true},
		"sampling": object{"method": "simple_random", "size": 100, "confidence": 0.95, "enrolment": "open"}, "collectors": []object{{"did": "did:ixo:agent/123"}},
	}))
	path := "/v1/surveys/" + made.SurveyID
	call(t, all[0], 200, "POST "+path+"/activate", object{})
	sent := 0
	send := func(c *server.Client, want int) {
		t.Helper()
		sent++
		call(t, c, want, "POST "+path+"/responses", object{
			"responseId": fmt.Sprint("resp_", sent), "householdId": fmt.Sprint("did:ixo:household/", sent), "timestamp": "2026-02-20T10:00:00Z",
			"responses": object{"eligibility": object{"current_cooking": []string{"wood"}}, "socio_economic": object{"household_size": 5}},
		})
	}
	var took time.Duration
	for i := range rounds() {
		writer := all[i%len(all)]
		for _, c := range all {
			send(c, 201)
		}
		took = slowest(t, took, func() { call(t, writer, 200, "POST "+path+"/pause", object{}) })
		for _, c := range all {
			send(c, 409)
		}
		took = slowest(t, took, func() { call(t, writer, 200, "POST "+path+"/resume", object{}) })
	}
	t.Logf("%d rounds, slowest change %s", rounds(), took)
}
