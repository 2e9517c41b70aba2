package response_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "responses.json", d, v.l, v.h)
	})
}

// The reference can be made, and names what callers need.
func TestDocument(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	a := surveytest.Gate(callerOf).API(v.s.Routes)
	text, err := web.DocumentJSON(web.Document("x", "1", a))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"missingAttachments", "/v1/attachments/{sha256}", "supersedes", "RESPONSE_LOCKED", "masked"} {
		if !strings.Contains(string(text), word) {
			t.Errorf("the reference does not have %s", word)
		}
	}
}
