package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// verdict is the verifiers' decision about an interview of the plan; "" leaves it
// waiting. They reject what is copied or hasty and what they cannot believe, and
// have not reached the newest ones yet.
func (p *plan) verdict(v *visit) (status, reason string) {
	d := p.dice("verdict/" + v.name())
	last := p.size(v.campaign.each)
	switch {
	case v.campaign.open && v.n >= last*2/3, d.IntN(12) == 0:
		return "", ""
	case v.collector == copier && v.told != v.n:
		return "rejected", "The answers are those of another interview of the same day."
	case v.collector == hasty && d.IntN(2) == 0:
		return "rejected", "Nobody asks all this in five minutes."
	case d.IntN(25) == 0:
		return "rejected", "Another household lives at this place."
	}
	return "verified", "Place, time and answers agree."
}

// verification has the verifiers decide.
func (l *loader) verification(ctx context.Context) error {
	l.counts.Verified, l.counts.Rejected, l.counts.Waiting = 0, 0, 0
	all := campaigns()
	for i := range all {
		for j, v := range l.visits(&all[i]) {
			verifier, err := l.as(ctx, verifierID(j%verifiers))
			if err != nil {
				return err
			}
			if err := l.decide(ctx, verifier, &v); err != nil {
				return fmt.Errorf("verdict about %s: %w", v.name(), err)
			}
		}
	}
	return nil
}

// decide looks at an interview and decides about it.
func (l *loader) decide(ctx context.Context, verifier *client.Client, v *visit) error {
	status, reason := l.verdict(v)
	switch status {
	case "":
		l.counts.Waiting++
		return nil
	case "verified":
		l.counts.Verified++
	default:
		l.counts.Rejected++
	}
	r, err := verifier.Responses.Get(ctx, l.responseID(v))
	if err != nil {
		return err
	}
	if r.Verification.Status == status {
		return nil // an earlier attempt came this far
	}
	_, err = verifier.Verifications.Decide(ctx, r.ResponseID, client.DecisionDraft{Status: status, Reason: reason}, client.IfRevision(r.Revision), l.once("verdict/%s", v.name()))
	return err
}

// quality runs the checks over each survey.
func (l *loader) quality(ctx context.Context) error {
	verifier, err := l.as(ctx, verifierID(0))
	if err != nil {
		return err
	}
	for _, c := range campaigns() {
		j, err := verifier.Quality.Run(ctx, c.id, 0, l.once("quality/%s", c.id))
		if err == nil {
			err = l.wait(ctx, verifier, j)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
	}
	return nil
}

// wait waits for a job of the demo.
func (l *loader) wait(ctx context.Context, as *client.Client, j *client.Job) error {
	j, err := as.Jobs.Wait(ctx, j.ID)
	if err == nil && !j.Done() {
		err = fault.New(fault.Conflict, "DEMO_REFUSED", "The job "+j.Kind+" of the demo has ended as "+j.Status+".")
	}
	return err
}

// Questions that are asked again, with answers of the plan: section and question.
var askedAgain = map[string][]string{
	"demo-baseline":   {"eligibility/target_area", "eligibility/owns_target_device", "socio_economic/household_size", "socio_economic/children_under_5"},
	"demo-follow-up":  {"consent/respondent_is_main_cook", "installation/training_received", "usage/used_last_7_days"},
	"demo-monitoring": {"eligibility/target_area", "usage/used_last_7_days", "usage/still_uses_old_device", "usage/stove_in_good_condition"},
}

// backChecks draws interviews to be asked again, and asks most of them. What the
// two bad collectors have written down is not what people say.
func (l *loader) backChecks(ctx context.Context) error {
	supervisor, err := l.as(ctx, supervisorID)
	if err != nil {
		return err
	}
	l.counts.BackChecks = 0
	all := campaigns()
	for i := range all {
		c := &all[i]
		if _, err := supervisor.Quality.Draw(ctx, c.id, client.DrawDraft{Seed: "demo " + l.id, Share: 0.1, PerCollector: 1}); err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
		visits := map[string]*visit{}
		of := l.visits(c)
		for j := range of {
			visits[l.responseID(&of[j])] = &of[j]
		}
		n := 0
		for b, err := range supervisor.Quality.BackChecks(ctx, c.id, client.BackCheckQuery{}) {
			if err != nil {
				return fmt.Errorf("%s: %w", c.id, err)
			}
			if n++; c.open && n%4 == 0 {
				continue // still to be asked
			}
			if err := l.askAgain(ctx, supervisor, &b, visits[b.ResponseID]); err != nil {
				return fmt.Errorf("%s: %w", c.id, err)
			}
		}
		l.counts.BackChecks += n
	}
	return nil
}

// askAgain answers a back-check.
func (l *loader) askAgain(ctx context.Context, supervisor *client.Client, b *client.BackCheck, v *visit) error {
	if b.State != "drawn" || v == nil {
		return nil
	}
	given := v.campaign.answers(l.plan, v)
	out := client.Answers{}
	for _, name := range askedAgain[v.campaign.id] {
		section, question, _ := strings.Cut(name, "/")
		answer := given[section][question]
		if v.collector == copier || v.collector == hasty {
			var err error
			if answer, err = mistaken(answer); err != nil {
				return err
			}
		}
		if out[section] == nil {
			out[section] = map[string]any{}
		}
		out[section][question] = answer
	}
	_, err := supervisor.Quality.AnswerBackCheck(ctx, v.campaign.id, b.BackCheckID, client.BackCheckOutcome{Responses: out}, l.once("again/%s", v.name()))
	return err
}
