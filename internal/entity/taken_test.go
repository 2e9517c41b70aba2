package entity_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// The refusal of a DID that is taken reads the same to a key that is limited to
// a project whatever has the DID: a twin it can see, one of another project, a
// protocol, or a twin that is deactivated.
func TestTakenReadsTheSame(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		limited := `[{"role":"project","target":"` + projectOne + `"}]`
		v.create(t, "ws", entity.Draft{DID: projectOne, Type: "p", Protocol: "did:ixo:protocol/project"})
		v.create(t, "ws", entity.Draft{DID: "did:ixo:project/two", Type: "p", Protocol: "did:ixo:protocol/project"})
		seen := v.send(t, "ws limited", "POST /v1/entities", `{"did":"did:ixo:x:seen","type":"x","protocol":"did:ixo:protocol/clean-cooking","relationships":`+limited+`}`)
		if seen.Code != 201 {
			t.Fatalf("create = %d %s", seen.Code, seen.Body)
		}
		v.create(t, "ws", entity.Draft{DID: "did:ixo:x:hidden", Type: "x", Protocol: "did:ixo:protocol/clean-cooking"})
		v.create(t, "ws", entity.Draft{DID: "did:ixo:x:gone", Type: "x", Protocol: "did:ixo:protocol/clean-cooking"})
		if w := v.send(t, "ws owner", "DELETE /v1/entities/did:ixo:x:gone?reason=broken", "", "If-Match", "*"); w.Code/100 != 2 {
			t.Fatalf("deactivate = %d %s", w.Code, w.Body)
		}
		if w := v.send(t, "ws owner", "POST /v1/protocols", `{"did":"did:ixo:x:proto","type":"Protocol","name":"P","class":"physical"}`); w.Code != 201 {
			t.Fatalf("protocol = %d %s", w.Code, w.Body)
		}
		for _, method := range []string{"POST", "PUT"} {
			var want string
			for _, id := range []string{"did:ixo:x:seen", "did:ixo:x:hidden", "did:ixo:x:gone", "did:ixo:x:proto"} {
				body := `{"did":"` + id + `","type":"x","protocol":"did:ixo:protocol/clean-cooking","relationships":` + limited + `}`
				w := v.send(t, "ws limited", "POST /v1/entities", body)
				if method == "PUT" {
					w = v.send(t, "ws limited", "PUT /v1/entities/"+strings.ReplaceAll(id, "/", "%2F"), body, "If-None-Match", "*")
				}
				got := strings.NewReplacer(id, "DID", strings.ReplaceAll(id, "/", "%2F"), "DID").Replace(w.Body.String())
				if w.Code != map[string]int{"POST": 409, "PUT": 412}[method] || want != "" && got != want {
					t.Errorf("%s of %s = %d %s, want %s", method, id, w.Code, got, want)
				}
				want = got
			}
		}
	})
}
