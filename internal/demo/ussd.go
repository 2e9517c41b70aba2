package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

func lineStages() []stage {
	return []stage{{"customers and calls", false, (*loader).line}, {"interviews by phone", false, func(l *loader, ctx context.Context) error { return phoned{l}.interviews(ctx) }}}
}

// Sizes of the line at full scale.
const (
	customers = 12 // who open an account
	callers   = 18 // who only look
)

// customer is the number of a caller who opens an account: that of a household.
func customer(n int) string { return phone(1001 + n) }

// caller is the number of a caller who looks and hangs up.
func caller(n int) string { return phone(2001 + n) }

// phones are all numbers of the plan.
func (p *plan) phones() []string {
	var out []string
	for i := range customers {
		out = append(out, customer(i))
	}
	for i := range callers {
		out = append(out, caller(i))
	}
	return out
}

// line has customers open accounts and register their households, and others look
// at what there is.
func (l *loader) line(ctx context.Context) error {
	l.counts.Customers, l.counts.Calls = 0, 0
	if !l.s.cfg.Line {
		l.skip("customers and calls: this server has no USSD line that takes calls of its own")
		return nil
	}
	for i := range l.size(customers) {
		there, err := l.s.cfg.Customer(ctx, customer(i))
		if err != nil {
			return err
		}
		if !there.Known {
			made, err := l.register(ctx, i)
			if err != nil {
				return fmt.Errorf("customer %d: %w", i+1, err)
			}
			if !made {
				l.skip("customers: the menu of this line is not the one that comes with the program")
				return nil
			}
		}
		l.counts.Customers++
		l.counts.Calls++
	}
	for i := range l.size(callers) {
		d := l.dice(fmt.Sprint("caller/", i))
		steps := [][]string{{"1", "1"}, {"1", "2"}, {"1", "3"}, {"2", "3"}, {"9", "2", "1"}}[d.IntN(5)]
		c := &dialled{loader: l, session: fmt.Sprintf("demo-%s-call-%d", l.id, i), phone: caller(i), text: steps[:len(steps)-1]}
		if _, err := c.press(ctx, steps[len(steps)-1]); err != nil {
			return err
		}
		if err := c.hangUp(ctx, time.Duration(9+d.IntN(50))*time.Second); err != nil {
			return err
		}
		l.counts.Calls++
	}
	return l.settled(ctx)
}

// skip notes that a part was left out.
func (l *loader) skip(why string) { l.counts.Skipped = append(l.counts.Skipped, why) }

// settled waits until the twins of all customers are made: a job does that.
func (l *loader) settled(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for i := range l.size(customers) {
		for {
			there, err := l.s.cfg.Customer(ctx, customer(i))
			if err != nil || !there.Known || there.Settled {
				if err != nil {
					return err
				}
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	}
	return nil
}

// dialled is a call.
type dialled struct {
	*loader
	session, phone string
	text           []string // typed so far
	hops           int
}

// pin is the PIN of a customer. No two neighbours in it follow each other.
func (p *plan) pin(i int) string {
	d := p.dice(fmt.Sprint("customer/", i))
	return fmt.Sprintf("%d%d%d%d%d", 4+d.IntN(2), 8+d.IntN(2), 1+d.IntN(2), 6+d.IntN(2), 3)
}

// register opens an account and registers the household, as the shipped menu asks
// for it. It reports whether there was such a menu.
func (l *loader) register(ctx context.Context, i int) (bool, error) {
	h, d, pin := &l.homes[i%len(l.homes)], l.dice(fmt.Sprint("register/", i)), l.pin(i)
	c := &dialled{loader: l, session: fmt.Sprintf("demo-%s-customer-%d", l.id, i), phone: customer(i)}
	for _, step := range []struct{ key, want string }{
		{"", "CON"},
		{"2", "CON"},
		{"2", "name"},
		{h.name, "email"},
		{"00", "PIN"},
		{pin, "PIN"},
		{pin, "Customer ID"},
		{"1", "PIN"},
		{pin, "Hello"},
		{"3", "household"},
		{"1", "district"},
		{h.district.name, "people"},
		{fmt.Sprint(h.size), "CON"},
	} {
		screen, err := c.press(ctx, step.key)
		if err != nil {
			return false, err
		}
		if !strings.Contains(screen, step.want) {
			return false, nil
		}
	}
	return true, c.hangUp(ctx, time.Duration(70+d.IntN(60))*time.Second)
}

// press sends a key press and gives the screen.
func (c *dialled) press(ctx context.Context, key string) (string, error) {
	if key != "" {
		c.text = append(c.text, key)
	}
	c.hops++
	return c.post(ctx, "/api/ussd/africastalking", url.Values{
		"sessionId": {c.session}, "phoneNumber": {c.phone}, "serviceCode": {"*384*2233#"}, "text": {strings.Join(c.text, "*")},
	})
}

// hangUp ends the call, as a gateway does.
func (c *dialled) hangUp(ctx context.Context, length time.Duration) error {
	_, err := c.post(ctx, "/api/ussd/africastalking/events", url.Values{
		"sessionId": {c.session}, "phoneNumber": {c.phone}, "serviceCode": {"*384*2233#"}, "networkCode": {"99999"}, "status": {"Success"},
		"cost": {"KES 0.0000"}, "durationInMillis": {fmt.Sprint(length.Milliseconds())}, "hopsCount": {fmt.Sprint(c.hops)},
	})
	return err
}

// post sends a form to the line.
func (c *dialled) post(ctx context.Context, path string, form url.Values) (string, error) {
	status, body, err := c.send(ctx, http.MethodPost, path, strings.NewReader(form.Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	if err == nil && status != http.StatusOK {
		err = fault.New(fault.Conflict, "DEMO_REFUSED", fmt.Sprintf("The USSD line answers %d to the demo: %s", status, body))
	}
	return string(body), err
}
