package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// designID is the sample design of the survey whose list is drawn.
const designID = "demo-monitoring-sample"

// framed is how many households, at full scale, there are to choose from: those
// of the first deliveries, who had time to get used to the stove. All monitors
// are among them.
const framed = 180

// sampler makes the drawn sample of a load.
type sampler struct{ *loader }

// sample makes the draw for the list of a survey: the manager commits, a verifier
// adds the second part of the seed. It resumes an interrupted attempt.
func (l sampler) sample(ctx context.Context, manager *client.Client, c *campaign) error {
	d, err := manager.Sampling.GetDraw(ctx, designID)
	if isCode(err, "DESIGN_NOT_FOUND") {
		_, err = manager.Sampling.Create(ctx, l.design(c), l.once("design"))
		if err == nil {
			d, err = l.commit(ctx, manager)
		}
	} else if isCode(err, "SAMPLE_DRAW_NOT_FOUND") {
		d, err = l.commit(ctx, manager)
	}
	if err == nil && d.ProjectID != l.dids[project] {
		err = fault.New(fault.Conflict, "DEMO_REFUSED", "Another sample design has the id "+designID+" of the demo.")
	}
	if err == nil && d.State == "committed" {
		d, err = l.contribute(ctx)
	}
	if err == nil && d.State != "drawn" {
		_, err = manager.Sampling.Draw(ctx, designID, client.SampleDrawDraft{})
	}
	return err
}

// design is the sample design: 90/10 by district.
func (l sampler) design(c *campaign) client.SampleDesignDraft {
	confidence, precision, expected, dropout := 0.9, 0.1, 0.5, 0.2
	out := client.SampleDesignDraft{
		DesignID: designID, Name: "Monitoring, 90/10 by district", ProjectID: l.dids[project], SurveyID: c.id, ParameterType: "proportion",
		Confidence: &confidence, Precision: &precision, ExpectedMean: &expected, DropoutRate: &dropout, Stratification: &client.SampleStratification{},
	}
	for _, d := range districts {
		out.Stratification.Strata = append(out.Stratification.Strata, client.SampleStratum{Name: d.name, Population: l.inFrame(d.name)})
	}
	return out
}

// inFrame is how many households of a district there are to choose from.
func (l sampler) inFrame(district string) *float64 {
	n := 0.0
	for i := range l.size(framed) {
		if l.homes[i].district.name == district {
			n++
		}
	}
	return &n
}

// commit has another look at the design, freezes the frame and commits to a draw.
func (l sampler) commit(ctx context.Context, manager *client.Client) (*client.SampleDraw, error) {
	verifier, err := l.as(ctx, verifierID(0))
	if err != nil {
		return nil, err
	}
	if _, err := verifier.Sampling.Approve(ctx, designID, client.SampleApproval{Note: "The target is that of the monitoring plan."}, l.once("approve")); err != nil {
		return nil, err
	}
	var frame strings.Builder
	frame.WriteString("household,stratum\n")
	for i := range l.size(framed) {
		fmt.Fprintf(&frame, "%s,%s\n", l.dids[l.homes[i].external()], l.homes[i].district.name)
	}
	if _, err := manager.Sampling.PutFrame(ctx, designID, client.SampleFrameDraft{CSV: frame.String()}, l.once("frame")); err != nil {
		return nil, err
	}
	return manager.Sampling.Commit(ctx, designID, client.SampleCommit{Second: client.SampleSecond{Source: "party", Party: l.dids[verifierID(0)]}}, l.once("commit"))
}

// contribute has the verifier add the second part of the seed.
func (l sampler) contribute(ctx context.Context) (*client.SampleDraw, error) {
	verifier, err := l.as(ctx, verifierID(0))
	if err != nil {
		return nil, err
	}
	return verifier.Sampling.Contribute(ctx, designID, l.uuid("second part"), l.once("contribute"))
}

// remember learns which households the draw has taken, in the order they are
// visited in.
func (l sampler) remember(ctx context.Context, manager *client.Client) error {
	places := map[string]int{}
	for i := range l.homes {
		places[l.dids[l.homes[i].external()]] = i
	}
	l.drawn = l.drawn[:0]
	for u, err := range manager.Sampling.Units(ctx, designID, "") {
		if err != nil {
			return err
		}
		if u.Replaces == "" {
			l.drawn = append(l.drawn, places[u.HouseholdID])
		}
	}
	slices.Sort(l.drawn)
	l.counts.Drawn = len(l.drawn)
	return nil
}

// sampling says how the households of a survey are chosen; a draw sets it right.
func (l sampler) sampling(c *campaign) *client.SurveySampling {
	size, population := float64(l.size(c.each)*collectors), float64(len(l.listed(c)))
	if c.drawn {
		population = float64(l.size(framed))
	}
	out := &client.SurveySampling{Method: "stratified", Size: &size, Population: &population, Enrolment: "list"}
	for _, d := range districts {
		out.Strata = append(out.Strata, client.SurveyStratum{Name: d.name})
	}
	return out
}

// listed are the places of the households on the list of a survey among all.
func (l sampler) listed(c *campaign) []int {
	if c.drawn {
		return l.drawn
	}
	out := make([]int, min(l.size(c.listed)+collectors, l.size(households)))
	for i := range out {
		out[i] = i
	}
	return out
}

// replace replaces the first two households that were not reached by the next ones
// of the draw.
func (l sampler) replace(ctx context.Context, lost []string) error {
	supervisor, err := l.as(ctx, supervisorID)
	if err != nil {
		return err
	}
	for i, did := range lost[:min(2, len(lost))] {
		in := client.SampleReplacement{HouseholdID: did, Reason: "Moved to Nairobi; two neighbours confirm it."}
		_, err := supervisor.Sampling.Replace(ctx, designID, in, l.once("replace/%d", i))
		if err != nil && !isCode(err, "UNIT_REPLACED") && !isCode(err, "REPLACEMENTS_EXHAUSTED") {
			return err
		}
	}
	return nil
}
