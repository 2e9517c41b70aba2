package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
)

func TestImportIsSentAgain(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	bodies := make(chan string, 5)
	keys := make(chan string, 5)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		keys <- r.Header.Get("Idempotency-Key")
		if tries.Add(1) < 3 {
			cut(w)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"id":"job_1","status":"queued"}`)
	})
	j, err := c.Imports.Create(t.Context(), client.ImportDraft{Format: "ndjson"}, strings.NewReader("{}\n"))
	if err != nil || j.ID != "job_1" {
		t.Fatalf("Create() = %+v, %v; want job_1", j, err)
	}
	first := <-keys
	for range 2 {
		if body, key := <-bodies, <-keys; body != "{}\n" || key != first || key == "" {
			t.Errorf("an attempt with %q and key %q, want the same file and key %q", body, key, first)
		}
	}
}

func TestImportOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a file that cannot be read was sent") })
	broken := io.MultiReader(strings.NewReader("{}"), &failing{})
	if _, err := c.Imports.Create(t.Context(), client.ImportDraft{Format: "ndjson"}, broken); !errors.Is(err, errBroken) {
		t.Errorf("Create() = %v, want the error of the file", err)
	}
	if _, err := c.Imports.Create(t.Context(), client.ImportDraft{Format: "csv"}, io.LimitReader(zeros{}, 64<<20+1)); err == nil {
		t.Error("a file above the limit was taken")
	}
}

var errBroken = errors.New("broken")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestExportFile(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/exports/gone/file":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"code":"EXPORT_EXPIRED","detail":"Gone."}`)
		case r.URL.Path == "/v1/exports/cut/file":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "begin")
		case tries.Add(1) == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.Header().Set("ETag", `"sum"`)
			fmt.Fprint(w, "did\ndid:x:y\n")
		}
	})
	var m client.Meta
	f, err := c.Exports.File(t.Context(), "job_1", client.WithMeta(&m))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil || string(text) != "did\ndid:x:y\n" || m.ETag != `"sum"` || m.Attempts != 2 {
		t.Errorf("file = %q, %v, %+v; want the file at the second attempt", text, err, m)
	}
	if _, err := c.Exports.File(t.Context(), "gone"); client.CodeOf(err) != "EXPORT_EXPIRED" {
		t.Errorf("a file that is gone: %v, want EXPORT_EXPIRED", err)
	}
	f, err = c.Exports.File(t.Context(), "cut")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.ReadAll(f); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that was cut ends with %v, want an error", err)
	}
}

func TestSafePosts(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Idempotency-Key") != "" {
			t.Error("an Idempotency-Key where the server keeps none")
		}
		if tries.Add(1)%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{"id":"erasure_1","valid":true}`)
	})
	if e, err := c.Erasures.Create(t.Context(), client.ErasureDraft{Subject: house, Reason: "r"}); err != nil || e.ID != "erasure_1" {
		t.Errorf("erasure = %+v, %v; want one at the second attempt", e, err)
	}
	if v, err := c.Protocols.Validate(t.Context(), "did:x:y", "", client.Sample{}); err != nil || !v.Valid {
		t.Errorf("validation = %+v, %v; want one at the second attempt", v, err)
	}
}

func TestCreateAsNeverReplaces(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("If-None-Match"); got != "*" {
			t.Errorf("If-None-Match = %q, want *", got)
		}
		fmt.Fprint(w, `{}`)
	})
	for range 2 {
		if _, err := c.Entities.CreateAs(t.Context(), house, client.EntityDraft{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResolvePublic(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/did:x:gone") {
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"didDocument":{"id":"did:x:gone"},"didResolutionMetadata":{},"didDocumentMetadata":{"created":"2026-11-15T06:00:00Z","deactivated":true}}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"didDocument":null,"didResolutionMetadata":{"error":"notFound","message":"No."},"didDocumentMetadata":{}}`)
	})
	r, err := c.DIDs.ResolvePublic(t.Context(), "did:x:gone", client.DIDVersion{})
	if err != nil || !r.DocumentMetadata.Deactivated || r.DocumentMetadata.Created.IsZero() {
		t.Fatalf("resolution = %+v, %v; want that the DID is deactivated", r, err)
	}
	if d, err := r.Document(); err != nil || d.ID != "did:x:gone" {
		t.Errorf("document = %+v, %v", d, err)
	}
	_, err = c.DIDs.ResolvePublic(t.Context(), "did:x:none", client.DIDVersion{})
	if e := asError(t, err); e.Status != 404 || e.Code != "notFound" || e.Message != "No." {
		t.Errorf("refusal = %+v, want 404 notFound", e)
	}
}

func TestWholeChecksFollowPages(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		last := r.URL.Query().Get("cursor") != ""
		switch {
		case r.URL.Path == "/v1/invariants" && !last:
			fmt.Fprint(w, `{"ok":false,"checked":5,"violations":[{"rule":"cycle"}],"complete":false,"page":{"nextCursor":"a","hasMore":true}}`)
		case r.URL.Path == "/v1/invariants":
			fmt.Fprint(w, `{"ok":true,"checked":2,"violations":[],"complete":true,"page":{}}`)
		case !last:
			fmt.Fprint(w, `{"ok":true,"checked":3,"from":1,"to":3,"page":{"nextCursor":"a","hasMore":true}}`)
		default:
			fmt.Fprint(w, `{"ok":true,"checked":1,"erased":1,"from":4,"to":4,"page":{}}`)
		}
	})
	all, err := c.Graph.Invariants(t.Context())
	if err != nil || all.OK || all.Checked != 7 || len(all.Violations) != 1 || !all.Complete {
		t.Errorf("invariants = %+v, %v; want both pages", all, err)
	}
	a, err := c.Entities.Audit(t.Context(), "did:x:y")
	if err != nil || !a.OK || a.Checked != 4 || a.Erased != 1 || a.From != 1 || a.To != 4 {
		t.Errorf("audit = %+v, %v; want both pages", a, err)
	}
}

func TestTwinLists(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprint(w, `{"items":[{"did":"1"}],"page":{"nextCursor":"a","hasMore":true}}`)
			return
		}
		fmt.Fprint(w, `{"items":[{"did":"2"}],"page":{}}`)
	})
	var got []string
	for e, err := range c.Entities.List(t.Context(), client.EntityQuery{Type: "T"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.DID)
	}
	for h, err := range c.Households.List(t.Context(), client.PageQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, h.DID)
	}
	if !slices.Equal(got, []string{"1", "2", "1", "2"}) {
		t.Errorf("DIDs = %v, want those of both pages, twice", got)
	}
}
