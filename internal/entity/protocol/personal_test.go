package protocol_test

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// TestPersonal: what one version has marked stays personal, in all of them and
// by whatever way; a draft has no say.
func TestPersonal(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		want := func(id, want string) {
			t.Helper()
			for range 2 { // from the store, and from memory
				got, err := e.s.Personal(t.Context(), d, "ws", id)
				if err != nil || fmt.Sprint(got) != want {
					t.Errorf("Personal(%s) = %v, %v; want %s", id, got, err, want)
				}
			}
		}
		want("did:ixo:protocol/household", "[location name phone]")
		want("did:ixo:protocol/person", "[email name phone]")
		want("did:ixo:protocol/project", "[]")

		id := e.create(t, "ws", `{"did":"did:ixo:protocol/tenant","properties":{"phone":"string","note":{"type":"string","pii":true},"serial":"string"}}`)
		want(id, "[]")
		e.release(t, "ws", id)
		want(id, "[note]")
		e.next(t, "ws", id, `{"version":"1.1.0","pii":["phone"]}`)
		want(id, "[note phone]")
		e.next(t, "ws", id, `{"version":"1.2.0","pii":[],"properties":{"note":"string"}}`)
		want(id, "[note phone]")

		heir := e.publish(t, "ws", `{"did":"did:ixo:protocol/heir","extends":"did:ixo:protocol/household","properties":{"floor":{"type":"integer","pii":true}}}`)
		want(heir.DID, "[floor location name phone]")

		if _, err := e.s.Personal(t.Context(), d, "other", id); fault.CodeOf(err) != "PROTOCOL_NOT_FOUND" {
			t.Errorf("of another workspace: %v", err)
		}
	})
}

// TestPersonalInATransaction: what was read in one is not kept for others, to
// whom it may be the past, or never be.
func TestPersonalInATransaction(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.publish(t, "ws", `{"did":"did:ixo:protocol/tenant","properties":{"phone":"string","note":{"type":"string","pii":true}}}`).DID
		want := func(q db.Querier, marks, version string) {
			t.Helper()
			got, err := e.s.Personal(t.Context(), q, "ws", id)
			if err != nil || fmt.Sprint(got) != marks {
				t.Errorf("Personal = %v, %v; want %s", got, err, marks)
			}
			p, err := e.s.FindAnyIn(t.Context(), q, "ws", id, "")
			if err != nil || p.Version != version {
				t.Errorf("FindAnyIn = %+v, %v; want %s", p, err, version)
			}
		}
		e.s.Flush()
		err := d.View(t.Context(), func(q db.Querier) error {
			want(q, "[note]", "1.0.0")
			e.next(t, "ws", id, `{"version":"1.1.0","pii":["phone"]}`)
			want(q, "[note]", "1.0.0")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want(d, "[note phone]", "1.1.0")
		want(d, "[note phone]", "1.1.0")
	})
}
