package claim_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// collection makes one of the court's stoves and gives its id.
func (c *court) collection(t testing.TB, more ...string) string {
	t.Helper()
	e := c.want(t, "owner", "GET "+at(c.stove), "", "200")
	return c.want(t, "owner", "POST /v1/collections", `{"name":"2026","protocol":"`+e.text("protocol")+`"`+strings.Join(more, "")+`}`, "201").text("id")
}

// counts are those of a collection, in the order of what the API shows.
func (c *court) counts(t testing.TB, id string) string {
	t.Helper()
	n := c.want(t, "owner", "GET /v1/collections/"+id, "", "200").Body["counts"].(map[string]any)
	return fmt.Sprint(n["taken"], "/", n["submitted"], " ", n["pending"], n["flagged"], n["disputed"], n["approved"], n["rejected"], n["invalidated"], n["withdrawn"])
}

// into submits a claim for a month of its own to a collection.
func (c *court) into(t testing.TB, id, want string) reply {
	t.Helper()
	c.month++
	day := fmt.Sprintf("%d-%02d-", 2000+c.month/12, c.month%12+1)
	return c.want(t, "owner", "POST /v1/claims", claimed(c.stove, day+"01", day+"28", `,"oracle":"`+c.oracle+`","collection":"`+id+`"`), want)
}

// A collection takes claims while it is open, in its window and up to its quota, and its
// counts are those of its claims whatever becomes of them.
func TestCollections(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		id := c.collection(t, `,"quota":2`)
		first := c.into(t, id, "201").text("id")
		second := c.into(t, id, "201").text("id")
		if r := c.into(t, id, "409 COLLECTION_QUOTA_REACHED"); len(r.Fields) != 1 || r.Fields[0].Pointer != "/collection" {
			t.Errorf("fields = %v, want /collection", r.Fields)
		}
		if got, want := c.counts(t, id), "2/2 2 0 0 0 0 0 0"; got != want {
			t.Errorf("counts = %s, want %s", got, want)
		}
		if got := c.want(t, "owner", "GET "+claimAt(first), "", "200"); got.text("collection") != id || got.Body["document"].(map[string]any)["collection"] != id {
			t.Errorf("claim = %v, want its collection in it and in its document", got.Body)
		}

		c.want(t, "owner", "POST "+claimAt(first)+"/withdraw", "", "200")
		third := c.into(t, id, "201").text("id") // its place is free
		c.want(t, "judge", "POST "+claimAt(second)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "201")
		c.want(t, "judge", "POST "+claimAt(third)+"/evaluations", `{"facts":{"usage":{"value":0.9},"sold":{"value":true}}}`, "201")
		if got, want := c.counts(t, id), "1/3 0 0 0 1 1 0 1"; got != want {
			t.Errorf("counts = %s, want %s", got, want)
		}
		dispute := c.want(t, "neighbour", "POST "+claimAt(second)+"/disputes", `{"reason":"sold"}`, "201").text("id")
		c.want(t, "elder", "POST "+claimAt(second)+"/disputes/"+dispute+"/decision", `{"outcome":"upheld","reason":"heard"}`, "200")
		flagged := c.into(t, id, "201").text("id")
		c.want(t, "judge", "POST "+claimAt(flagged)+"/evaluations", `{}`, "201")
		if got, want := c.counts(t, id), "1/4 0 1 0 0 1 1 1"; got != want {
			t.Errorf("counts = %s, want %s", got, want)
		}
		items := c.want(t, "owner", "GET /v1/claims?collection="+id, "", "200").Body["items"].([]any)
		if len(items) != 4 {
			t.Errorf("%d claims of the collection are listed, want 4", len(items))
		}
		for _, none := range []string{"col_1", "col_x", "x", "col_0"} {
			if got := c.want(t, "owner", "GET /v1/claims?collection="+none, "", "200").Body["items"].([]any); len(got) != 0 {
				t.Errorf("%d claims of %s are listed, want none", len(got), none)
			}
		}
	})
}

// State, window, quota and what is pinned are held to, and nobody sees or fills the
// collections of others.
func TestCollectionRefuses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		for body, pointers := range map[string]string{
			`{}`: "/name /protocol",
			`{"name":"x","protocol":"did:ixo:protocol/clean-cooking","quota":-1}`:                                                        "/quota",
			`{"name":"x","protocol":"did:ixo:protocol/clean-cooking","startsAt":"2026-02-01T00:00:00Z","endsAt":"2026-01-01T00:00:00Z"}`: "/endsAt",
			`{"name":"x","protocol":"did:ixo:protocol/clean-cooking","projectId":"did:ixo:entity:00000000000000000000000000000000"}`:     "/projectId",
			`{"name":"x","protocol":"did:ixo:protocol/clean-cooking","projectId":"` + c.stove + `"}`:                                     "/projectId",
			`{"name":"x","protocol":"did:ixo:protocol/clean-cooking","state":"closed"}`:                                                  "/state",
		} {
			r := c.want(t, "owner", "POST /v1/collections", body, "400 COLLECTION_INVALID")
			got := ""
			for _, f := range r.Fields {
				got += " " + f.Pointer
			}
			if strings.TrimSpace(got) != pointers {
				t.Errorf("%s: fields %s, want %s", body, got, pointers)
			}
		}
		c.want(t, "owner", "POST /v1/collections", `{"name":"x","protocol":"did:x:none"}`, "404 PROTOCOL_NOT_FOUND")
		c.want(t, "limited did:x:p", "POST /v1/collections", `{"name":"x","protocol":"did:ixo:protocol/clean-cooking"}`, "403 KEY_RESTRICTED")

		id := c.collection(t)
		path := "/v1/collections/" + id
		c.want(t, "stranger", "GET "+path, "", "404 COLLECTION_NOT_FOUND")
		c.want(t, "limited did:x:p", "GET "+path, "", "404 COLLECTION_NOT_FOUND")
		c.into(t, "col_1", "404 COLLECTION_NOT_FOUND")
		c.into(t, "none", "404 COLLECTION_NOT_FOUND")
		c.want(t, "owner", "POST "+path+"/pause", "", "200")
		c.want(t, "owner", "POST "+path+"/pause", "", "200")
		c.into(t, id, "409 COLLECTION_NOT_OPEN")
		c.want(t, "owner", "POST "+path+"/open", "", "200")
		c.into(t, id, "201")
		c.into(t, id, "201")
		c.want(t, "owner", "PATCH "+path, `{"quota":1}`, "409 COLLECTION_QUOTA_BELOW_COUNT")
		c.want(t, "owner", "PATCH "+path, `{"version":"2.0.0"}`, "400 UNKNOWN_MEMBER")
		c.want(t, "owner", "PATCH "+path, `{"startsAt":"2100-01-01T00:00:00Z"}`, "200")
		c.into(t, id, "409 COLLECTION_NOT_STARTED")
		c.want(t, "owner", "PATCH "+path, `{"startsAt":null,"endsAt":"2020-01-01T00:00:00Z"}`, "200")
		c.into(t, id, "409 COLLECTION_ENDED")
		if r := c.want(t, "owner", "PATCH "+path, `{"endsAt":null,"quota":2}`, "200"); r.Body["revision"] != 6.0 || r.Body["quota"] != 2.0 {
			t.Errorf("collection = %v, want revision 6 and a quota of 2", r.Body)
		}
		c.into(t, id, "409 COLLECTION_QUOTA_REACHED")
		c.want(t, "owner", "POST "+path+"/close", "", "200")
		c.want(t, "owner", "POST "+path+"/open", "", "409 COLLECTION_CLOSED")
		c.want(t, "owner", "PATCH "+path, `{"quota":9}`, "409 COLLECTION_CLOSED")
		c.into(t, id, "409 COLLECTION_NOT_OPEN")

		other := c.want(t, "owner", "POST /v1/collections", `{"name":"cooking","protocol":"did:ixo:protocol/clean-cooking"}`, "201").text("id")
		c.into(t, other, "409 COLLECTION_MISMATCH")
		direct := `{"type":"Claim","protocol":"did:ixo:protocol/claim","properties":{"kind":"fuel-saved","periodEnd":"1999-01-01","data":{"collection":"` + id + `"}},"relationships":[{"role":"producedBy","target":"` + c.stove + `"}]}`
		c.want(t, "owner", "POST /v1/entities", direct, "409 COLLECTION_NOT_OPEN")
	})
}

// The version that a collection pins decides, whatever that of the subject is.
func TestCollectionPinsVersion(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		p := c.want(t, "owner", "GET "+at(c.stove), "", "200").text("protocol")
		pinned := c.collection(t)
		c.want(t, "owner", "POST /v1/protocols/"+p+"/versions", `{"version":"2.0.0","claimTypes":{"fuel-saved":{"verification":{"rubric":[
			{"id":"none","stage":"veto","when":"true","then":{"outcome":"rejected","reasonCode":"NONE"}}]}}}}`, "201")
		c.want(t, "owner", "POST /v1/protocols/"+p+"/publish", "", "200")
		c.stove = c.want(t, "owner", "POST /v1/entities", `{"type":"stove","protocol":"`+p+`"}`, "201").text("did")
		newest := c.collection(t)
		for _, e := range []struct{ in, want string }{{pinned, "1.0.0 approved"}, {newest, "2.0.0 rejected"}} {
			made := c.into(t, e.in, "201")
			facts := `{"facts":{"usage":{"value":0.9}}}`
			got := c.want(t, "judge", "POST "+claimAt(made.text("id"))+"/evaluations", facts, "201")
			if got := got.text("version") + " " + got.text("outcome"); got != e.want {
				t.Errorf("decided by %s, want %s", got, e.want)
			}
		}
	})
}

// However many submit at once, no more than the quota are taken, and the counts are
// those of the rows.
func TestQuotaHoldsUnderCrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		id := c.collection(t, `,"quota":5`)
		var all sync.WaitGroup
		codes := make([]int, 32)
		for i := range codes {
			all.Go(func() {
				day := fmt.Sprintf("%d-01-", 2000+i)
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/claims", strings.NewReader(claimed(c.stove, day+"01", day+"28", `,"collection":"`+id+`"`)))
				r.Header.Set("Authorization", "Bearer owner")
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				c.h.ServeHTTP(w, r)
				codes[i] = w.Code
			})
		}
		all.Wait()
		taken := 0
		for _, code := range codes {
			switch code {
			case http.StatusCreated:
				taken++
			case http.StatusConflict:
			default:
				t.Errorf("status %d, want 201 or 409", code)
			}
		}
		var rows int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM claims WHERE collection <> 0`).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if got, want := c.counts(t, id), "5/5 5 0 0 0 0 0 0"; taken != 5 || rows != 5 || got != want {
			t.Errorf("%d taken, %d rows, counts %s; want 5, 5, %s", taken, rows, got, want)
		}
	})
}
