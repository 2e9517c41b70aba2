package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// busy is on the screen when a step could not be stored in time, as on a machine with
// much else to do.
const busy = "temporarily unavailable"

// caller is a telephone behind a gateway that sends a step again until it is
// answered.
type caller struct {
	at      *atomic.Pointer[server.Server] // nil while there is none
	n       int
	typed   []string
	answers *atomic.Int64
}

// press types something and gives the screen.
func (c *caller) press(ctx context.Context, key string) string {
	if key != "" {
		c.typed = append(c.typed, key)
	}
	body := map[string]string{
		"sessionId": fmt.Sprint("call", c.n), "serviceCode": "*2233#", "phoneNumber": fmt.Sprintf("+2547000000%02d", c.n), "text": strings.Join(c.typed, "*"),
	}
	for ctx.Err() == nil {
		if s := c.at.Load(); s != nil {
			one := &server.Client{URL: s.URL}
			if a, err := one.Do(ctx, "POST", "/api/ussd", body); err == nil && a.Status == 200 && !strings.Contains(string(a.Body), busy) {
				c.answers.Add(1)
				return string(a.Body)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ""
}

// TestInterviewKilled: customers answer a survey on telephones while the server is
// killed again and again. Every interview goes on where it was, and is stored once.
func TestInterviewKilled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		const callers, kills = 12, 3
		o.Env = append(o.Env, "USSD_RATE_LIMIT=0")
		s := server.Run(t, o)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		boss := s.Client(1)
		for _, r := range [][2]string{
			{"/v1/templates", `{"templateId":"use","title":"Stove use","sections":[{"id":"s","questions":[{"id":"ok","type":"consent","label":"May we ask?"},{"id":"size","type":"integer","required":true,"label":"How many?"},{"id":"fuel","type":"single_choice","required":true,"label":"Which fuel?","options":["wood","gas"]}]}]}`},
			{"/v1/templates/use/publish", `{}`},
			{"/v1/surveys", `{"surveyId":"use","type":"MonitoringSurvey","projectId":"did:ixo:project/1","templateId":"use","modes":["ussd"],"sampling":{"method":"census"}}`},
			{"/v1/surveys/use/activate", `{"reason":"test"}`},
		} {
			if a := must(boss.Do(ctx, "POST", r[0], []byte(r[1])))(t); a.Status >= 300 {
				t.Fatalf("%s = %d %s", r[0], a.Status, a.Body)
			}
		}
		var at atomic.Pointer[server.Server]
		var answered atomic.Int64
		at.Store(s)
		var wg sync.WaitGroup
		for n := range callers {
			wg.Go(func() { answerAll(ctx, t, &caller{at: &at, n: n, answers: &answered}) })
		}
		const screens = callers * 16
		for k := range kills {
			for ctx.Err() == nil && answered.Load() < int64(screens*(k+1)/(kills+1)) {
				time.Sleep(time.Millisecond)
			}
			at.Store(nil)
			if err := s.Kill(); err != nil {
				t.Error(err)
			}
			s = server.Run(t, o)
			at.Store(s)
		}
		wg.Wait()
		homes := map[string]int{}
		for r, err := range owner(t, s).Responses.List(ctx, "use", client.ResponseQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			homes[r.HouseholdID]++
			if fmt.Sprintf("%v %v %s %s", r.Responses["s"]["size"], r.Responses["s"]["fuel"], r.Mode, r.Status) != "4 gas ussd complete" || r.Revision != 1 {
				t.Errorf("stored %v by %s, %s, revision %d", r.Responses, r.Mode, r.Status, r.Revision)
			}
		}
		for home, n := range homes {
			if n != 1 {
				t.Errorf("%d responses of %s", n, home)
			}
		}
		if len(homes) != callers {
			t.Errorf("%d households have answered, want %d", len(homes), callers)
		}
	})
}

// answerAll opens an account, logs in and answers the survey.
func answerAll(ctx context.Context, t *testing.T, c *caller) {
	for _, step := range []struct{ key, want string }{
		{"", "Account Menu"},
		{"2", "create my account"},
		{"2", "name"},
		{"Amina", "email"},
		{"00", "PIN"},
		{"48213", "again"},
		{"48213", "Customer ID"},
		{"1", "PIN of C"},
		{"48213", "Surveys"},
		{"4", "my household"},
		{"1", "Survey:"},
		{"1", "May we ask?"},
		{"1", "How many?"},
		{"4", "Which fuel?"},
		{"2", "Send your answers?"},
		{"1", "END Thank you."},
	} {
		if got := c.press(ctx, step.key); !strings.Contains(got, step.want) {
			t.Errorf("caller %d after %q: %q, want %q", c.n, step.key, got, step.want)
			return
		}
	}
}
