package template_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
)

// What a phone cannot ask is named when a template is published, and only then.
func TestPublishWarns(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, func(c *template.Config) {
			c.XForm = func(f *form.Form, version int) ([]byte, error) {
				x, err := openrosa.NewForm(f, openrosa.Options{Version: version})
				if err != nil {
					return nil, err
				}
				return x.XML, nil
			}
		})
		e.create(t, "ws", `{"templateId":"hard","sections":[{"id":"s","questions":[{"id":"a","type":"text","relevant":"household.group == 'x'"}]}]}`)
		w := e.call(t, "ws", "POST /v1/templates/hard/publish", `{}`)
		if got := w.Body.String(); w.Code != 200 || !strings.Contains(got, `"status":"published"`) || !strings.Contains(got, `"warnings":[{"pointer":"/sections/0/questions/0/relevant","code":"no_xpath"`) {
			t.Errorf("publish = %d %s, want a warning about relevant", w.Code, got)
		}
		if got := e.call(t, "ws", "GET /v1/templates/hard", "").Body.String(); strings.Contains(got, "warnings") {
			t.Errorf("the warning is stored: %s", got)
		}
		e.create(t, "ws", seed("easy"))
		if w := e.call(t, "ws", "POST /v1/templates/easy/publish", `{}`); w.Code != 200 || strings.Contains(w.Body.String(), "warnings") {
			t.Errorf("publish = %d %s, want no warning", w.Code, w.Body)
		}
	})
}
