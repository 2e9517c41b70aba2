package ussd_test

import (
	"log/slog"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// turn is one request and what must be in its answer. A want that begins with
// = is the number of an earlier turn whose answer it must be, byte for byte.
type turn struct{ text, want string }

// Beginnings of screens.
const (
	atHome   = "CON Welcome to Small"
	atRead   = "CON This text is longer"
	atSent   = "CON Sent "
	atName   = "CON Your name?"
	atTown   = "CON Jane, your town?"
	atPIN    = "CON Choose a PIN"
	atDone   = "CON Thank you, Jane."
	atLogin  = "CON Your PIN?"
	atResume = "CON Go on where you stopped?"
	noGood   = "CON Choose a number shown.\n"
	goodbye  = "END Goodbye."
	broken   = "END Service temporarily unavailable. Please try again later."
	invalid  = "END Invalid input. Please try again."
)

// play sends turns and checks the answers.
func (l *line) play(session string, turns []turn) {
	l.t.Helper()
	var answers []string
	for i, tn := range turns {
		got := l.send(session, phone1, tn.text)
		answers = append(answers, got)
		if at, same := strings.CutPrefix(tn.want, "="); same {
			if want := answers[at[0]-'0']; got != want {
				l.t.Errorf("turn %d %q = %q, want that of turn %s, %q", i, tn.text, got, at, want)
			}
			continue
		}
		if !strings.HasPrefix(got, tn.want) {
			l.t.Errorf("turn %d %q = %q, want %q…", i, tn.text, got, tn.want)
		}
	}
}

// TestHabits has one case for each thing that networks do.
func TestHabits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		mode    wire.Mode
		turns   []turn
		effects []string
	}{
		{"accumulated text", "", []turn{{"", atHome}, {"2", atName}, {"2*Jane", atTown}, {"2*Jane*00", atPIN}, {"2*Jane*00*" + pinOfAll, atDone}}, []string{"join Jane/"}},
		{"newest text only", "", []turn{{"", atHome}, {"2", atName}, {"Jane", atTown}, {"00", atPIN}, {pinOfAll, atDone}}, []string{"join Jane/"}},
		{"the first key three times", "", []turn{{"", atHome}, {"1", atRead}, {"1", "=1"}, {"1", "=1"}, {"1*1", atSent}, {"1", "=4"}}, []string{"send reading"}},
		{"newest only, shown by the second key", "", []turn{{"", atHome}, {"1", atRead}, {"0", atHome}, {"1", atRead}, {"1", atSent}, {"0", atHome}}, []string{"send reading"}},
		{"newest only, shown by the second answer", "", []turn{{"", atHome}, {"2", atName}, {"Jane", atTown}, {"Jane", atPIN}}, nil},
		{"newest only, fixed", wire.Latest, []turn{{"", atHome}, {"1", atRead}, {"1", atSent}, {"0", atHome}}, []string{"send reading"}},
		{"redelivery", "", []turn{{"", atHome}, {"1", atRead}, {"1*1", atSent}, {"1*1", "=2"}, {"1*1", "=2"}}, []string{"send reading"}},
		{"redelivery of the first answer", wire.Accumulated, []turn{{"", atHome}, {"1", atRead}, {"1", "=1"}, {"1*1", atSent}}, []string{"send reading"}},
		{"redelivery of the first answer, then the next", "", []turn{{"", atHome}, {"2", atName}, {"2", "=1"}, {"2*Jane", atTown}}, nil},
		{"doubled first dial", "", []turn{{"", atHome}, {"", "=0"}, {"1", atRead}, {"", "=2"}}, nil},
		{"deep dial", "", []turn{{"1*1", atSent}, {"1*1", "=0"}, {"0", atHome}}, []string{"send reading"}},
		{"deep dial of an accumulating gateway", wire.Accumulated, []turn{{"1*1", atSent}, {"1*1", "=0"}, {"1*1*0", atHome}}, []string{"send reading"}},
		{"deep dial, then newest only", "", []turn{{"2*Jane", atTown}, {"Kisumu", atPIN}, {pinOfAll, atDone}}, []string{"join Jane/Kisumu"}},
		{"dialled code as the first text", "", []turn{{"*2233#", atHome}, {"1", atRead}}, nil},
		{"shorter text", wire.Accumulated, []turn{{"", atHome}, {"1", atRead}, {"1*1", atSent}, {"1", "=2"}, {"", "=2"}, {"1*1*0", atHome}, {"1*1", "=5"}}, []string{"send reading"}},
		{"lost requests", "", []turn{{"", atHome}, {"2*Jane*00", atPIN}, {"2*Jane*00*" + pinOfAll, atDone}}, []string{"join Jane/"}},
		{"blank answer", "", []turn{{"", atHome}, {"1", atRead}, {"1*", noGood}, {"1**1", atSent}}, []string{"send reading"}},
		{"blank answer, newest only", wire.Latest, []turn{{"", atHome}, {"1", atRead}, {"", noGood}, {"1", atSent}}, []string{"send reading"}},
		{"blanks around the answers", "", []turn{{"", atHome}, {"2", atName}, {"2*Jane ", atTown}, {"2*Jane * 00", atPIN}}, nil},
		{"exit", "", []turn{{"", atHome}, {"1", atRead}, {"1**", goodbye}, {"1**", "=2"}, {"1", "=2"}}, nil},
		{"exit, newest only", "", []turn{{"", atHome}, {"1", atRead}, {"*", goodbye}, {"*", "=2"}}, nil},
		{"exit at once", "", []turn{{"*", goodbye}, {"*", "=0"}}, nil},
		{"exit is the last part only", wire.Accumulated, []turn{{"1***1", atSent}}, []string{"send reading"}},
		{"text after an exit", wire.Accumulated, []turn{{"", atHome}, {"*", goodbye}, {"**1", "=1"}}, nil},
		{"id used again after an exit", "", []turn{{"", atHome}, {"1", atRead}, {"1*1", atSent}, {"1*1**", goodbye}, {"", atHome}, {"1*1", atSent}}, []string{"send reading", "send reading"}},
		{"words for keys", wire.Latest, []turn{{"", atHome}, {"1", atRead}, {"Back", atHome}, {"EXIT", goodbye}}, nil},
		{"another text altogether", wire.Accumulated, []turn{{"", atHome}, {"1", atRead}, {"2*Jane", atTown}, {"2*Jane*00", atPIN}}, nil},
		{"a repeated walk has its effects once", wire.Accumulated, []turn{{"1*1", atSent}, {"2*Jane", atTown}, {"1*1", "=0"}}, []string{"send reading"}},
		{"end node", "", []turn{{"", atHome}, {"5", "END Closed."}, {"5", "=1"}, {"", atHome}}, nil},
		{"wrong PIN counts once", wire.Accumulated, []turn{{"", atHome}, {"3", atLogin}, {"3*0000", "CON Wrong PIN."}, {"3*0000", "=2"}, {"3*0000*" + pinOfAll, "CON Hello Asha."}}, []string{"wrong"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Any(t, func(t *testing.T, d *db.DB) {
				withEffects(t, d)
				l := newLine(t, d, newClock(), func(c *ussd.Config) { c.TextMode = tt.mode })
				l.play("s1", tt.turns)
				if got := l.effects(phone1); !slices.Equal(got, tt.effects) && len(got)+len(tt.effects) > 0 {
					t.Errorf("effects = %q, want %q", got, tt.effects)
				}
			})
		})
	}
}

// TestReusedID has one id at two numbers and two gateways: four sessions.
func TestReusedID(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		l := newLine(t, d, newClock())
		l.play("s1", []turn{{"", atHome}, {"3", atLogin}})
		if got := l.send("s1", phone2, "1"); !strings.HasPrefix(got, atRead) {
			t.Errorf("another number = %q, want its own walk", got)
		}
		form := url.Values{"sessionId": {"s1"}, "phoneNumber": {phone1}, "serviceCode": {"*2233#"}, "networkCode": {"63902"}, "text": {""}}
		w := l.post("/api/ussd/africastalking", "application/x-www-form-urlencoded", form.Encode())
		if got := w.Body.String(); !strings.HasPrefix(got, atHome) {
			t.Errorf("another gateway = %q, want its own walk", got)
		}
		l.play("s1", []turn{{"3*" + pinOfAll, "CON Hello Asha."}})
	})
}

// TestFormWithNetworkCode accumulates from the start: the first answer twice
// is one answer.
func TestFormWithNetworkCode(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	withEffects(t, d)
	l := newLine(t, d, newClock())
	send := func(text string) string {
		form := url.Values{"sessionId": {"s1"}, "phoneNumber": {phone1}, "serviceCode": {"*2233#"}, "networkCode": {"63902"}, "text": {text}}
		return l.post("/api/ussd", "application/x-www-form-urlencoded", form.Encode()).Body.String()
	}
	send("")
	first, second := send("1"), send("1")
	if !strings.HasPrefix(first, atRead) || second != first {
		t.Errorf("answers = %q, %q; want the same", first, second)
	}
}

// TestParallelCopies sends copies of every request to two instances at once.
func TestParallelCopies(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		c, adds := newClock(), func(c *ussd.Config) { c.TextMode = wire.Accumulated }
		lines := []*line{newLine(t, d, c, adds), newLine(t, d, c, adds)}
		for round, session := range []string{"s1", "s2", "s3", "s4", "s5"} {
			for _, text := range []string{"", "1", "1*1", "1*1*0", "1*1*0*1", "1*1*0*1*1", "1*1*0*1*1**"} {
				answers := make([]string, 6)
				var wg sync.WaitGroup
				for i := range answers {
					wg.Go(func() { answers[i] = lines[i%2].send(session, phone1, text) })
				}
				wg.Wait()
				if same := slices.Compact(slices.Clone(answers)); len(same) != 1 || !strings.HasPrefix(same[0], "CON") && text != "1*1*0*1*1**" {
					t.Fatalf("copies of %q = %q, want one answer", text, answers)
				}
			}
			if got := len(lines[0].effects(phone1)); got != 2*(round+1) {
				t.Fatalf("effects = %d, want %d", got, 2*(round+1))
			}
		}
	})
}

// TestParallelNewest sends copies to one instance, where texts tell nothing:
// who arrives while the first is at work is a copy.
func TestParallelNewest(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		c := newClock()
		entered, leave := make(chan struct{}), make(chan struct{})
		var once sync.Once
		slow := func(cfg *ussd.Config) {
			cfg.TextMode = wire.Latest
			cfg.Actions = actions(func(machine.ActionCall) error {
				once.Do(func() { close(entered) })
				<-leave
				return nil
			})
		}
		l := newLine(t, d, c, slow)
		l.play("s1", []turn{{"", atHome}, {"1", atRead}})
		answers := make([]string, 4)
		var wg sync.WaitGroup
		wg.Go(func() { answers[0] = l.send("s1", phone1, "1") })
		<-entered
		for i := range answers[1:] {
			wg.Go(func() { answers[i+1] = l.send("s1", phone1, "1") })
		}
		for l.Waiting("s1", phone1, "1") < len(answers) {
			runtime.Gosched()
		}
		close(leave)
		wg.Wait()
		if same := slices.Compact(slices.Clone(answers)); len(same) != 1 || same[0] != "CON Sent 1 so far.\n0. Back\n*. Exit" {
			t.Errorf("copies = %q, want one answer", answers)
		}
	})
}

// TestFirstKeyOnTwoInstances sends copies of the first key, which leads to an
// effect, to two instances at once, and one more when all is over.
func TestFirstKeyOnTwoInstances(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		c := newClock()
		sends := func(c *ussd.Config) {
			c.Packs = &packs{[]*menu.Pack{readPack(t, "sw: Soma}, to: read}", "sw: Soma}, to: read.send}")}}
		}
		lines := []*line{newLine(t, d, c, sends), newLine(t, d, c, sends)}
		for _, session := range []string{"s1", "s2", "s3"} {
			lines[0].play(session, []turn{{"", atHome}})
			answers := make([]string, 6)
			var wg sync.WaitGroup
			for i := range answers {
				wg.Go(func() { answers[i] = lines[i%2].send(session, phone1, "1") })
			}
			wg.Wait()
			answers = append(answers, lines[1].send(session, phone1, "1"))
			if same := slices.Compact(slices.Clone(answers)); len(same) != 1 || !strings.HasPrefix(same[0], atSent) {
				t.Errorf("copies = %q, want one answer", answers)
			}
		}
		if got := lines[0].effects(phone1); len(got) != 3 {
			t.Errorf("effects = %q, want one a session", got)
		}
	})
}

// TestNumberedSteps has a gateway that sends the newest answer alone with the
// number of the step: a request with the number and text of an earlier one is
// its copy, also when it comes late; equal answers in a row are two answers.
func TestNumberedSteps(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		c := newClock()
		lines := []*line{newLine(t, d, c), newLine(t, d, c)}
		turns := 0
		for _, tt := range []struct{ kind, step, text, want string }{
			{"Initiation", "1", "*2233#", "Welcome to Small"},
			{"Response", "2", "1", "This text is longer"},
			{"Response", "2", "1", "This text is longer"},
			{"Response", "3", "1", "Sent 1 so far."},
			{"Response", "3", "1", "Sent 1 so far."},
			{"Response", "2", "1", "Sent 1 so far."}, // late: where the session stands
			{"Response", "4", "0", "Welcome to Small"},
		} {
			turns++
			body := `{"Type":"` + tt.kind + `","Sequence":"` + tt.step + `","Message":"` + tt.text + `","ServiceCode":"*2233#","Mobile":"233200000001","SessionId":"h1"}`
			if got := lines[turns%2].post("/api/ussd/hubtel", "application/json", body).Body.String(); !strings.Contains(got, tt.want) {
				t.Errorf("turn %d: %s %q = %s, want %q", turns, tt.kind, tt.text, got, tt.want)
			}
		}
		if got := lines[0].effects("+233200000001"); len(got) != 1 {
			t.Errorf("effects = %q, want one", got)
		}
	})
}

// TestNewestOnlyIsLogged names the setting once for a session that does not
// accumulate.
func TestNewestOnlyIsLogged(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var log strings.Builder
		l := newLine(t, d, newClock(), func(c *ussd.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		l.play("s1", []turn{{"", atHome}, {"2", atName}, {"2*Jane", atTown}, {"2*Jane*00", atPIN}})
		if log.Len() > 0 {
			t.Errorf("log of texts that accumulate = %q, want none", log.String())
		}
		l.play("s2", []turn{{"", atResume}, {"2", atHome}, {"1", atRead}, {"0", atHome}})
		if got := log.String(); strings.Count(got, "USSD_TEXT_MODE=latest") != 1 {
			t.Errorf("log = %q, want the setting once", got)
		}
	})
}

// TestParallelDeepDial sends copies of a first request with an effect to two
// instances at once.
func TestParallelDeepDial(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		c, adds := newClock(), func(c *ussd.Config) { c.TextMode = wire.Accumulated }
		lines := []*line{newLine(t, d, c, adds), newLine(t, d, c, adds)}
		for round, session := range []string{"s1", "s2", "s3", "s4", "s5", "s6"} {
			answers := make([]string, 8)
			var wg sync.WaitGroup
			for i := range answers {
				wg.Go(func() { answers[i] = lines[i%2].send(session, phone1, "1*1") })
			}
			wg.Wait()
			if same := slices.Compact(slices.Clone(answers)); len(same) != 1 || !strings.HasPrefix(same[0], atSent) {
				t.Fatalf("copies = %q, want one answer", answers)
			}
			if got := len(lines[0].effects(phone1)); got != round+1 {
				t.Fatalf("effects = %d, want %d", got, round+1)
			}
		}
	})
}

// TestExpiry lets a session go silent. What accumulates is walked again, with
// its effects as they were; what does not begins anew.
func TestExpiry(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		var dropped []string
		l := newLine(t, d, newClock(), func(c *ussd.Config) { c.Dropped = func(node string) { dropped = append(dropped, node) } })
		l.play("s1", []turn{{"", atHome}, {"1", atRead}, {"1*1", atSent}})
		l.clock.pass(181 * time.Second)
		if got := l.get("/api/ussd/debug/s1"); got.Code != 404 {
			t.Errorf("debug of an expired session = %d, want 404", got.Code)
		}
		l.play("s1", []turn{{"1*1*0", atHome}, {"1*1*0*1", atRead}})
		if got := l.effects(phone1); len(got) != 1 {
			t.Errorf("effects = %q, want the one from before", got)
		}
		l.clock.pass(181 * time.Second)
		l.play("s2", []turn{{"", atHome}})
		sweep(t, l)
		if len(dropped) != 0 {
			t.Errorf("dropped at %q, want none: the effect is still remembered", dropped)
		}
		if got := l.Live(); got != 1 {
			t.Errorf("live = %d, want the new one", got)
		}
		l.clock.pass(11 * time.Minute)
		sweep(t, l)
		if want := []string{"home", "read"}; !slices.Equal(sorted(dropped), want) {
			t.Errorf("dropped at %q, want %q", dropped, want)
		}
		l.play("s1", []turn{{"", atHome}, {"1*1", "CON Sent 2 so far."}})
	})
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

func sweep(t *testing.T, l *line) {
	t.Helper()
	if err := l.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// newest declares that texts hold the newest answer alone.
func newest(c *ussd.Config) { c.TextMode = wire.Latest }

// TestRestart goes on with another service on the same store, and with one
// that has another version of the pack.
func TestRestart(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		c := newClock()
		newLine(t, d, c).play("acc", []turn{{"", atHome}, {"2", atName}})
		newLine(t, d, c).play("acc", []turn{{"2", atName}, {"2*Jane", atTown}})
		newLine(t, d, c, newest).play("new", []turn{{"", atResume}, {"2", atHome}, {"2", atName}})
		changed := func(cfg *ussd.Config) { cfg.Packs = &packs{[]*menu.Pack{readPack(t, "Choose a PIN", "Select a PIN")}} }
		newLine(t, d, c, changed).play("acc", []turn{{"2*Jane", "CON Jane, your town?"}, {"2*Jane*00", "CON Select a PIN"}})
		newLine(t, d, c, changed, newest).play("new", []turn{{"Jane", atTown}, {"00", "CON Select a PIN"}})
		both := func(cfg *ussd.Config) {
			cfg.Packs = &packs{[]*menu.Pack{readPack(t), readPack(t, "Choose a PIN", "Select a PIN")}}
		}
		newLine(t, d, c, both, newest).play("new", []turn{{"1", "CON Five digits.\nSelect a PIN"}})
	})
}

// TestPackWithoutTheNode begins again where nothing else is left.
func TestPackWithoutTheNode(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	c := newClock()
	newLine(t, d, c).play("s1", []turn{{"", atHome}, {"2", atName}, {"Jane", atTown}})
	other := func(cfg *ussd.Config) { cfg.Packs = &packs{[]*menu.Pack{readPack(t, "join.town", "join.place")}} }
	newLine(t, d, c, other).play("s1", []turn{{"Kisumu", atHome}, {"1", atRead}})
}

// TestDrafts keeps a walk that was dropped, and forgets it when it is over.
func TestDrafts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		l := newLine(t, d, newClock())
		l.play("s1", []turn{{"", atHome}, {"2", atName}, {"2*Jane", atTown}, {"2*Jane*Kisumu", atPIN}})
		l.play("s2", []turn{{"", atResume}, {"", "=0"}, {"1", atTown}, {"1*00", atPIN}, {"1*00*11111", "CON Too easy to guess."}})
		l.play("s3", []turn{{"", atResume}, {"*", goodbye}})
		l.play("s4", []turn{{"", atResume}, {"1", atTown}, {"1*Kisumu*" + pinOfAll, atDone}})
		l.play("s5", []turn{{"", atHome}, {"2", atName}, {"2*Jane", atTown}})
		l.play("s6", []turn{{"", atResume}, {"2", atHome}, {"2*2", atName}})
		l.play("s7", []turn{{"", atResume}, {"1", atName}, {"1*0", atHome}})
		l.play("s8", []turn{{"", atHome}, {"2*Jane", atTown}, {"2*Jane**", goodbye}})
		l.play("s9", []turn{{"", atHome}, {"2*Jane", atTown}})
		l.play("s10", []turn{{"1", atRead}})
		if got := l.send("s9", phone2, ""); !strings.HasPrefix(got, atHome) {
			t.Errorf("another number = %q, want no draft", got)
		}
		l.clock.pass(23 * time.Hour)
		sweep(t, l)
		l.play("s11", []turn{{"", atResume}})
		l.clock.pass(2 * time.Hour)
		l.play("s12", []turn{{"", atHome}})
		if got, want := l.effects(phone1), []string{"join Jane/Kisumu"}; !slices.Equal(got, want) {
			t.Errorf("effects = %q, want %q", got, want)
		}
	})
}

// TestResumedSessionExpires cannot be walked again from its text.
func TestResumedSessionExpires(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	l := newLine(t, d, newClock())
	l.play("s1", []turn{{"", atHome}, {"2", atName}, {"2*Jane", atTown}})
	l.play("s2", []turn{{"", atResume}, {"1", atTown}})
	l.clock.pass(181 * time.Second)
	l.play("s2", []turn{{"1*1", atResume}})
}

// TestForget removes all that is kept about one number.
func TestForget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLine(t, d, newClock())
		l.play("s1", []turn{{"", atHome}, {"2", atName}})
		l.play("s2", []turn{{"", atResume}})
		l.send("s1", phone2, "2")
		l.post("/api/ussd/africastalking/events", "application/x-www-form-urlencoded", "sessionId=s9&status=Success&phoneNumber="+url.QueryEscape(phone1))
		var n int64
		err := d.InTx(t.Context(), func(tx *db.Tx) (err error) {
			n, err = ussd.Forget(t.Context(), tx, phone1)
			return err
		})
		if err != nil || n != 4 {
			t.Errorf("Forget() = %d, %v; want two sessions, a draft and a call", n, err)
		}
		if got := l.get("/api/ussd/debug/s1").Body.String(); strings.Contains(got, phone1) || !strings.Contains(got, phone2) {
			t.Errorf("debug = %s, want the other number alone", got)
		}
		l.play("s3", []turn{{"", atHome}})
		if got := l.send("s4", phone2, ""); !strings.HasPrefix(got, atResume) {
			t.Errorf("the other number = %q, want its draft", got)
		}
	})
}

// TestTooMuchAtOnce refuses texts that nobody types.
func TestTooMuchAtOnce(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	withEffects(t, d)
	l := newLine(t, d, newClock())
	l.play("s1", []turn{{strings.TrimSuffix(strings.Repeat("1*1*0*", 8), "*"), atHome}, {strings.Repeat("*", 129), invalid}})
	l.play("s2", []turn{{strings.Repeat("1*1*0*", 9) + "1", invalid}})
	if got := len(l.effects(phone1)); got != 8 {
		t.Errorf("effects = %d, want 8", got)
	}
}

// TestArgumentsAreFilled gives an action what the caller typed.
func TestArgumentsAreFilled(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		p := readPack(t, "topic: reading", `topic: "to {name} of {app}"`)
		l := newLine(t, d, newClock(), func(c *ussd.Config) { c.Packs = &packs{[]*menu.Pack{p}} })
		l.play("s1", []turn{{"2*Jane*0*0*1*1", atSent}})
		if got, want := l.effects(phone1), []string{"send to Jane of Small"}; !slices.Equal(got, want) {
			t.Errorf("effects = %q, want %q", got, want)
		}
	})
}
