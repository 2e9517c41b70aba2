package statistics_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestPicture has a picture show what the JSON says, to those who may read it, and
// hide what that hides.
func TestPicture(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, "s", drawnTwo, twenty())
	v.ask(t, "s", 1, twenty())
	for _, tt := range []struct {
		who, query string
		status     int
		want, not  string
	}{
		{"ws owner", "question=home/kind&format=svg", 200, "from 18 households", "<script"},
		{"ws owner", "question=home/fuel&by=group&format=svg&width=320", 200, `width="320"`, "not shown"},
		{"ws auditor", "question=home/fuel&by=group&format=svg", 200, "comparison: not shown, because it comes from too few households", "household/"},
		{"ws owner", "question=home/fuel&by=group&compare=adopter,comparison&format=svg", 200, "adopter less comparison", ""},
		{"ws owner", "question=home/fuel&format=pdf", 400, "query/format", ""},
		{"ws owner", "question=home/fuel&format=svg&width=10", 400, "query/width", ""},
		{"ws owner", "question=home/name&format=svg", 400, "sealed", "<svg"},
		{"ws reader", "question=home/fuel&format=svg", 403, "SCOPE_MISSING", "<svg"},
		{"other owner", "question=home/fuel&format=svg", 404, "SURVEY_NOT_FOUND", "<svg"},
	} {
		w := v.Send(t, tt.who, "GET /v1/surveys/s/statistics?"+tt.query, "")
		body := w.Body.String()
		if w.Code != tt.status || !strings.Contains(body, tt.want) || tt.not != "" && strings.Contains(body, tt.not) {
			t.Errorf("%s as %s = %d %s, want %d %s and not %q", tt.query, tt.who, w.Code, body, tt.status, tt.want, tt.not)
		}
		if h := w.Header(); w.Code == 200 && (h.Get("Content-Type") != "image/svg+xml" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-")) {
			t.Errorf("headers %v", h)
		}
	}
	var list api.SurveyQuestions
	v.Must(t, "ws auditor", "GET /v1/surveys/s/statistics/questions", "", &list)
	var names []string
	for _, q := range list.Items {
		names = append(names, q.Question+" "+q.Statistics[0])
	}
	if got := strings.Join(names, ", "); got != "home/uses proportion, home/fuel mean, home/size mean, home/kind proportion, home/fuels proportion" {
		t.Errorf("questions with figures: %s", got)
	}
	for _, who := range []string{"ws reader", "other owner"} {
		if w := v.Send(t, who, "GET /v1/surveys/s/statistics/questions", ""); w.Code < 400 {
			t.Errorf("questions for %s: %d", who, w.Code)
		}
	}
}

// TestPictureByAccept has the Accept header choose as it does for graphs.
func TestPictureByAccept(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, "s", drawnTwo, twenty())
	v.ask(t, "s", 1, twenty())
	for accept, want := range map[string]string{
		"image/avif,image/webp,image/svg+xml,image/*,*/*;q=0.8": "image/svg+xml", "*/*": "application/json", "": "application/json",
		"image/svg+xml;q=0.2, application/json": "application/json",
	} {
		w := v.Send(t, "ws owner", "GET /v1/surveys/s/statistics?question=home/fuel", "", "Accept", accept)
		if got := w.Header().Get("Content-Type"); got != want {
			t.Errorf("Accept %q gets %s, want %s", accept, got, want)
		}
	}
}
