package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/hearth-dmrv/hearth/client"
)

// standIn answers as a server would, so that the examples run.
func standIn(body string) (*client.Client, func()) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/events" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		if r.URL.Path == "/v1/api-keys/none" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, body)
	}))
	c, err := client.New(client.Config{BaseURL: s.URL, Key: "hearth_…"})
	if err != nil {
		log.Fatal(err)
	}
	return c, s.Close
}

func ExampleKeys_Create() {
	c, stop := standIn(`{"id":"key_1","scopes":["entities:read"],"key":"hearth_abcdefghij_…"}`)
	defer stop()
	key, err := c.Keys.Create(context.Background(), client.KeyDraft{Name: "tablet of the Kitui team", Role: "collector"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(key.ID, key.Scopes) // key.Text is shown this once: keep it
	// Output: key_1 [entities:read]
}

func ExampleKeys_List() {
	c, stop := standIn(`{"items":[{"name":"owner"},{"name":"tablet"}],"page":{"limit":50,"hasMore":false}}`)
	defer stop()
	for key, err := range c.Keys.List(context.Background(), client.PageQuery{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(key.Name)
	}
	// Output:
	// owner
	// tablet
}

func ExampleError() {
	c, stop := standIn(`{"code":"KEY_NOT_FOUND","detail":"No key has this id."}`)
	defer stop()
	_, err := c.Keys.Get(context.Background(), "none")
	if e := new(client.Error); errors.As(err, &e) && e.Code == "KEY_NOT_FOUND" {
		fmt.Println(e.Status, e.Message)
	}
	// Output: 404 No key has this id.
}

func ExampleEvents_Stream() {
	c, stop := standIn("id: 7\nevent: key.created\ndata: {\"seq\":7,\"type\":\"key.created\",\"subject\":\"key_1\"}\n\n")
	defer stop()
	// Keep the number of the last event you have dealt with, and begin behind
	// it after a restart.
	for ev, err := range c.Events.Stream(context.Background(), client.StreamQuery{After: 6, Types: []string{"key.*"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.Seq, ev.Type, ev.Subject)
		break
	}
	// Output: 7 key.created key_1
}

func ExampleWebhookParse() {
	secret := "whsec_…" // from the answer that made the webhook
	http.HandleFunc("POST /hooks/hearth", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			return
		}
		m, err := client.WebhookParse(secret, r.Header, body)
		if err != nil {
			http.Error(w, "not for us", http.StatusUnauthorized)
			return
		}
		log.Println(m.Type, m.Subject)
	})
}

func ExampleEntities_Create() {
	c, stop := standIn(`{"did":"did:ixo:entity:1","class":"physical","status":"draft","missingRelationships":["operator","verifier"],"revision":1}`)
	defer stop()
	twin, err := c.Entities.Create(context.Background(), client.EntityDraft{
		Type: "Device", Protocol: "did:ixo:protocol/template",
		Properties: client.Object{"metricOne": "value", "metricTwo": 100},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(twin.DID, twin.Class, twin.Status, twin.MissingRelationships)
	// Output: did:ixo:entity:1 physical draft [operator verifier]
}

func ExampleEntities_Patch() {
	c, stop := standIn(`{"did":"did:ixo:entity:1","revision":3}`)
	defer stop()
	ctx := context.Background()
	// Change what you have read. When somebody else was faster the code is
	// STALE_REVISION: read again and look whether the change is still wanted.
	for {
		twin, err := c.Entities.Get(ctx, "did:ixo:entity:1")
		if err != nil {
			log.Fatal(err)
		}
		_, err = c.Entities.Patch(ctx, twin.DID, client.Object{"properties": client.Object{"metricTwo": 101}},
			client.IfRevision(twin.Revision), client.Reason("read off on site"))
		if client.CodeOf(err) == "STALE_REVISION" {
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("done")
		break
	}
	// Output: done
}

func ExampleImports_Create() {
	c, stop := standIn(`{"id":"job_1","status":"completedWithErrors","counts":{"created":2,"refused":1},"items":[{"line":3,"action":"refused","error":{"code":"ROW_INVALID","message":"The row cannot be read."}}]}`)
	defer stop()
	ctx := context.Background()
	file := strings.NewReader("name,serial\nStove 1,SN1\nStove 2,SN2\n")
	job, err := c.Imports.Create(ctx, client.ImportDraft{
		Format: "csv", Mode: "upsert", Protocol: "did:ixo:protocol/clean-cooking", Type: "Stove",
		Mapping: map[string]string{"name": "metadata.name", "serial": "externalIds.serial"},
	}, file)
	if err != nil {
		log.Fatal(err)
	}
	if job, err = c.Jobs.Wait(ctx, job.ID); err != nil || !job.Done() {
		log.Fatal(err, job.Errors)
	}
	report, err := c.Imports.Get(ctx, job.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Counts.Created, "made")
	for row, err := range c.Imports.Rows(ctx, job.ID, client.RowQuery{OK: new(false)}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("line", row.Line, row.Error.Message)
	}
	// Output:
	// 2 made
	// line 3 The row cannot be read.
}
