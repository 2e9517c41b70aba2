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

// TestConsistency: what was changed at one server holds at all of them once the change
// was answered. Each part alone: -run TestConsistency/keys.
func TestConsistency(t *testing.T) {
	t.Parallel()
	all := clients(t, nodes(t, 3))
	for name, agree := range map[string]func(*testing.T, []*server.Client){
		"keys": keysAgree, "groups": groupsAgree, "protocols": protocolsAgree, "templates": templatesAgree, "surveys": surveysAgree, "rules": rulesAgree,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agree(t, all)
		})
	}
}

// keysAgree: a key that was revoked at one server is refused by all once that was
// answered, and one that was made works.
func keysAgree(t *testing.T, all []*server.Client) {
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

// surveysAgree: a survey that was paused at one server takes no response anywhere
// once that was answered, and takes them again when it was resumed.
func surveysAgree(t *testing.T, all []*server.Client) {
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

// groupsAgree: who leaves a group at one server has lost its rights at all of them once
// that was answered, and has them again when they come back.
func groupsAgree(t *testing.T, all []*server.Client) {
	twin := func(request string, body object) string {
		t.Helper()
		return decode[struct {
			DID string `json:"did"`
		}](t, call(t, all[0], 201, request, body)).DID
	}
	person := twin("POST /v1/entities", object{"type": "Person", "protocol": "did:ixo:protocol/person", "properties": object{"name": "Amina"}})
	org := twin("POST /v1/entities", object{"type": "Organisation", "protocol": "did:ixo:protocol/organisation", "properties": object{"name": "Stoves"}})
	path := "/v1/entities/" + twin("POST /v1/entities/"+org+"/groups", object{"name": "readers", "scopes": []string{"entities:read"}}) + "/members/" + person
	call(t, all[0], 200, "PUT "+path, nil)
	key := decode[struct {
		Key string `json:"key"`
	}](t, call(t, all[0], 201, "POST /v1/api-keys", object{"name": "Amina", "principal": person, "role": "member"})).Key
	var took time.Duration
	for i := range rounds() {
		writer := all[i%len(all)]
		for range 2 { // the second is answered from memory
			for _, c := range all {
				call(t, as(c, key), 200, "GET /v1/entities/"+org, nil)
			}
		}
		took = slowest(t, took, func() { call(t, writer, 200, "DELETE "+path, nil) })
		for _, c := range all {
			call(t, as(c, key), 403, "GET /v1/entities/"+org, nil)
		}
		took = slowest(t, took, func() { call(t, writer, 200, "PUT "+path, nil) })
	}
	t.Logf("%d rounds, slowest change %s", rounds(), took)
}

// protocolsAgree: a version that was published at one server makes twins at all of them
// once that was answered, and one that was retired makes none.
func protocolsAgree(t *testing.T, all []*server.Client) {
	var took time.Duration
	for i := range rounds() {
		writer, did := all[i%len(all)], fmt.Sprint("did:x:fleet/", i)
		at := "POST /v1/protocols/" + strings.ReplaceAll(did, "/", "%2F")
		call(t, writer, 201, "POST /v1/protocols", object{"did": did, "type": "Protocol", "name": "Fleet", "version": "1.0.0"})
		took = slowest(t, took, func() { call(t, writer, 200, at+"/publish", object{}) })
		for range 2 {
			for _, c := range all {
				call(t, c, 201, "POST /v1/entities", object{"type": "Stove", "protocol": did})
			}
		}
		took = slowest(t, took, func() { call(t, writer, 200, at+"/retire", object{"reason": "over"}) })
		for _, c := range all {
			call(t, c, 422, "POST /v1/entities", object{"type": "Stove", "protocol": did})
		}
	}
	t.Logf("%d rounds, slowest change %s", rounds(), took)
}

// templatesAgree: a template that was published at one server is used by surveys at all
// of them once that was answered, and one that was retired by none.
func templatesAgree(t *testing.T, all []*server.Client) {
	survey := func(c *server.Client, want int, template string) {
		t.Helper()
		call(t, c, want, "POST /v1/surveys", object{
			"type": "BaselineSurvey", "projectId": "did:ixo:entity:123", "templateId": template, "sampling": object{"method": "simple_random", "size": 10, "confidence": 0.95},
		})
	}
	var took time.Duration
	for i := range rounds() {
		writer, id := all[i%len(all)], fmt.Sprint("fleet-", i)
		call(t, writer, 201, "POST /v1/templates", object{
			"templateId": id, "title": "Fleet", "sections": []object{{"id": "home", "questions": []object{{"id": "size", "type": "integer", "label": "Size"}}}},
		})
		took = slowest(t, took, func() { call(t, writer, 200, "POST /v1/templates/"+id+"/publish", object{}) })
		for range 2 {
			for _, c := range all {
				survey(c, 201, id)
			}
		}
		took = slowest(t, took, func() { call(t, writer, 200, "POST /v1/templates/"+id+"/retire", object{"version": 1}) })
		for _, c := range all {
			survey(c, 400, id)
		}
	}
	t.Logf("%d rounds, slowest change %s", rounds(), took)
}

// rulesAgree: the rules of checks that were set at one server are those of all of them
// once that was answered, and the next change may begin from them anywhere.
func rulesAgree(t *testing.T, all []*server.Client) {
	call(t, all[0], 201, "POST /v1/surveys", object{
		"surveyId": "checked", "type": "BaselineSurvey", "projectId": "did:ixo:entity:123", "template": object{"eligibilityCriteria": true, "socioEconomicData": true},
		"sampling": object{"method": "simple_random", "size": 100, "confidence": 0.95},
	})
	type rules struct {
		Revision   int     `json:"revision"`
		MinSeconds float64 `json:"minSeconds"`
	}
	const path = "/v1/surveys/checked/quality/rules"
	var took time.Duration
	for i := range rounds() * 2 {
		writer := all[i%len(all)]
		took = slowest(t, took, func() {
			got, err := writer.Do(t.Context(), "PUT", path, object{"minSeconds": 10 + i}, "If-Match", fmt.Sprintf("%q", strconv.Itoa(i)))
			if err != nil || got.Status != 200 {
				t.Fatalf("round %d: the rules are refused: %+v, %v", i, got, err)
			}
		})
		for _, c := range all {
			if got := decode[rules](t, call(t, c, 200, "GET "+path, nil)); got.Revision != i+1 || got.MinSeconds != float64(10+i) {
				t.Fatalf("round %d: the rules are %+v", i, got)
			}
		}
	}
	t.Logf("%d rounds, slowest change %s", rounds()*2, took)
}
