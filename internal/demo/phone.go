package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// phoneSurveyID is the survey that customers answer on their phones.
const phoneSurveyID = "demo-phone"

// phoned is the survey that is asked over USSD.
type phoned struct{ *loader }

// survey makes the survey that is asked over USSD and in the chat, of any
// household whose customer logs in.
func (l phoned) survey(ctx context.Context, manager *client.Client) error {
	draft := client.SurveyDraft{SurveyID: phoneSurveyID, Type: "MonitoringSurvey", ProjectID: l.dids[project]}
	draft.Name = "Stove use, by phone"
	draft.Description = "A survey of the demo that customers answer on their phones: dial, log in, 4. Surveys."
	draft.Template = &client.SurveyFlags{EligibilityCriteria: true}
	draft.Sampling = &client.SurveySampling{Method: "census"}
	draft.Modes, draft.Languages = []string{"ussd", "chat"}, []string{"en", "sw"}
	draft.Window = &client.SurveyWindow{Start: l.day(1), End: l.day(-30)}
	s, err := fieldwork(l).create(ctx, manager, draft)
	if err != nil {
		return err
	}
	return fieldwork(l).start(ctx, manager, s)
}

// What becomes of the interviews of customers, in turn.
const (
	answersAll = iota
	refuses
	dropsOff // the call ends in the middle
	fates
)

// interviews lets customers answer on their phones: most to the end, one
// refuses, and one whose call drops has a draft, which the next call continues.
func (l phoned) interviews(ctx context.Context) error {
	l.counts.ByPhone = 0
	if l.counts.Customers == 0 {
		return nil
	}
	for i := range l.size(customers) {
		fate := answersAll
		if i%6 == 4 {
			fate = refuses + i/6%(fates-1)
		}
		sent, err := l.interview(ctx, i, fate)
		if err != nil {
			return fmt.Errorf("customer %d: %w", i+1, err)
		}
		if sent {
			l.counts.ByPhone++
		}
		l.counts.Calls++
	}
	return nil
}

// mostKeys is more than the survey has questions, with second tries.
const mostKeys = 80

// interview calls, logs in and answers what the screens ask. It reports whether a
// response was sent, in this attempt or one before.
func (l phoned) interview(ctx context.Context, i, fate int) (bool, error) {
	there, err := l.s.cfg.Customer(ctx, customer(i))
	if err != nil {
		return false, err
	}
	d := l.dice(fmt.Sprint("phone/", i))
	// Each attempt is a separate call: an interview continues where the last one ended.
	c := &dialled{loader: l.loader, session: fmt.Sprintf("demo-%s-survey-%d-%d", l.id, i, l.s.cfg.Now().UnixMilli()), phone: customer(i)}
	screen := ""
	for _, key := range []string{"", "2", "1", there.ID, l.pin(i), "4", "1"} {
		if screen, err = c.press(ctx, key); err != nil {
			return false, err
		}
	}
	sent := strings.Contains(screen, "answered already")
	if !sent {
		if sent, err = c.answer(ctx, d, fate); err != nil {
			return false, err
		}
	}
	return sent, c.hangUp(ctx, time.Duration(90+d.IntN(120))*time.Second)
}

// answer chooses the survey and answers until it is sent.
func (c *dialled) answer(ctx context.Context, d *rand.Rand, fate int) (bool, error) {
	screen, err := c.press(ctx, "1")
	for n := 0; err == nil && n < mostKeys; n++ {
		switch {
		case strings.Contains(screen, "Send your answers?"):
			screen, err = c.press(ctx, "1")
			return err == nil && strings.HasPrefix(screen, "END"), err
		case fate == dropsOff && n == 6:
			return false, nil
		case fate == refuses && n == 0:
			screen, err = c.press(ctx, "2")
		default:
			screen, err = c.press(ctx, said(d, screen, n))
		}
	}
	if err != nil {
		return false, err
	}
	return false, fault.New(fault.Conflict, "DEMO_REFUSED", "The USSD line answers to the demo without an end: "+screen)
}

var (
	optionLine = regexp.MustCompile(`(?m)^([1-9])\. `)
	boundsLine = regexp.MustCompile(`From (\d+) to (\d+)`)
)

// said is what a customer types on a screen: yes at first, then one of the numbers
// shown, or a number that is asked for.
func said(d *rand.Rand, screen string, n int) string {
	if options := optionLine.FindAllString(screen, -1); len(options) > 0 {
		if n < 4 {
			return "1"
		}
		return fmt.Sprint(1 + d.IntN(len(options)))
	}
	least, most := 0, 4
	if b := boundsLine.FindStringSubmatch(screen); b != nil {
		from, _ := strconv.Atoi(b[1]) // digits, as the expression says
		to, _ := strconv.Atoi(b[2])
		least, most = from, min(to, from+4)
	}
	if strings.Contains(screen, "cost") {
		return fmt.Sprint(200 + 50*d.IntN(17))
	}
	return fmt.Sprint(least + d.IntN(most-least+1))
}
