package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func surveyStages() []stage {
	return []stage{
		{"surveys", true, (*loader).surveys},
		{"interviews", false, (*loader).interviews},
		{"kitchen tests", false, func(l *loader, ctx context.Context) error { return weigher{l}.kitchenTests(ctx) }},
		{"answers against sensors", false, func(l *loader, ctx context.Context) error { return weigher{l}.crossReference(ctx) }},
		{"verification", false, (*loader).verification},
		{"quality", false, (*loader).quality},
		{"back-checks", false, (*loader).backChecks},
		{"end of surveys", false, (*loader).closeSurveys},
	}
}

// campaign is a survey of the plan.
type campaign struct {
	id, typ, name string
	each          int // interviews of each collector
	listed        int // households on its list, less those of a last round of visits
	from          int // days before the load it began
	open          bool
	drawn         bool // its list is drawn from a frozen frame
	asks          client.SurveyFlags
	answers       func(p *plan, v *visit) client.Answers
}

func campaigns() []campaign {
	return []campaign{
		{"demo-baseline", "BaselineSurvey", "Baseline, before the stoves", 20, 180, 60, false, false, client.SurveyFlags{EligibilityCriteria: true, SocioEconomicData: true, CookingPatterns: true, StovePerceptions: true}, baselineAnswers},
		{"demo-follow-up", "FollowUpSurvey", "Follow-up, after installation", 15, 135, 38, false, false, client.SurveyFlags{StovePerceptions: true}, followUpAnswers},
		{"demo-monitoring", "MonitoringSurvey", "Monitoring, second month", 15, 0, 20, true, true, client.SurveyFlags{EligibilityCriteria: true, CookingPatterns: true}, monitoringAnswers},
	}
}

// Which of the collectors do badly.
const (
	copier = 2 // fills in the first interview of a day again and again
	hasty  = 5 // takes a few minutes
)

// visit is an interview of the plan.
type visit struct {
	campaign  *campaign
	collector int
	n         int // of the collector, from 0
	home      int // place of the household among all
	begin     time.Time
	length    time.Duration
	photo     string // hash of the picture; "" without one
	told      int    // n of the visit whose answers it gives: its own but for copies
	toldBy    int    // place of the household of that visit
}

// name is the name of the visit in the plan.
func (v *visit) name() string { return fmt.Sprintf("%s/%d/%d", v.campaign.id, v.collector, v.n) }

// visits are the interviews of a survey, collector after collector.
func (l *loader) visits(c *campaign) []visit {
	n, homes := l.size(c.each), sampler{l}.listed(c)
	out := make([]visit, 0, n*collectors)
	for k := range n {
		for by := range min(collectors, len(homes)-k*collectors) {
			v := visit{campaign: c, collector: by, n: k, home: homes[k*collectors+by], told: k}
			v.toldBy = v.home
			d := l.dice("visit/" + v.name())
			field := c.from - (k/4)*3 - by%3 // four a day, every third day
			v.begin = l.day(field).Add(time.Duration(5+2*(k%4))*time.Hour + time.Duration(d.IntN(20))*time.Minute)
			v.length = time.Duration(22*60+d.IntN(17*60)) * time.Second
			switch by {
			case copier:
				v.told = k / 4 * 4
				v.toldBy = homes[v.told*collectors+by]
			case hasty:
				v.length = time.Duration(190+d.IntN(130)) * time.Second
			}
			out = append(out, v)
		}
	}
	return out
}

// surveys makes the campaigns and their lists of households.
func (l *loader) surveys(ctx context.Context) error {
	manager, err := l.as(ctx, managerID)
	if err != nil {
		return err
	}
	l.counts.Surveys = 0
	all := campaigns()
	for i := range all {
		if err := (fieldwork{l}).campaign(ctx, manager, &all[i]); err != nil {
			return fmt.Errorf("%s: %w", all[i].id, err)
		}
		l.counts.Surveys++
	}
	if !l.s.cfg.Line {
		return nil
	}
	l.counts.Surveys++
	return phoned{l}.survey(ctx, manager)
}

// fieldwork makes surveys and starts them.
type fieldwork struct{ *loader }

// campaign makes a survey, its list, and starts it.
func (l fieldwork) campaign(ctx context.Context, manager *client.Client, c *campaign) error {
	draft := client.SurveyDraft{SurveyID: c.id, Type: c.typ, ProjectID: l.dids[project]}
	draft.Name = c.name
	draft.Description = "A survey of the demo: its households and answers are made up."
	draft.Template = &c.asks
	draft.Sampling = sampler(l).sampling(c)
	draft.Modes, draft.Languages = []string{"visit"}, []string{"en", "sw"}
	draft.Window = &client.SurveyWindow{Start: l.day(c.from), End: l.day(-30)} // a survey whose window is over does not begin
	for i := range collectors {
		draft.Collectors = append(draft.Collectors, client.Collector{
			DID: l.dids[collectorID(i)], Name: l.names[collectorID(i)],
			Training: &client.CollectorTraining{CompletedAt: l.day(c.from + 2), Note: "Two days, with a test interview."},
		})
	}
	s, err := l.create(ctx, manager, draft)
	if err != nil {
		return err
	}
	if c.drawn {
		if err = sampler(l).sample(ctx, manager, c); err == nil {
			err = sampler(l).remember(ctx, manager)
		}
		if err != nil {
			return fmt.Errorf("sample: %w", err)
		}
	}
	if _, err := manager.Surveys.AddHouseholds(ctx, c.id, l.list(c)); err != nil && !isCode(err, "SURVEY_LOCKED") {
		return err
	}
	return l.start(ctx, manager, s)
}

// create makes a survey unless it exists, and returns it.
func (l fieldwork) create(ctx context.Context, manager *client.Client, draft client.SurveyDraft) (*client.Survey, error) {
	if _, err := manager.Surveys.Create(ctx, draft, l.once("survey/%s", draft.SurveyID)); err != nil && !isCode(err, "SURVEY_EXISTS") {
		return nil, err
	}
	s, err := manager.Surveys.Get(ctx, draft.SurveyID)
	if err == nil && s.ProjectID != draft.ProjectID {
		err = fault.New(fault.Conflict, "DEMO_REFUSED", "Another survey has the id "+draft.SurveyID+" of a survey of the demo.")
	}
	return s, err
}

// start has a survey take interviews.
func (l fieldwork) start(ctx context.Context, manager *client.Client, s *client.Survey) (err error) {
	if s.Status == "draft" {
		s, err = manager.Surveys.Ready(ctx, s.SurveyID, "", l.once("ready/%s", s.SurveyID))
	}
	if err == nil && s.Status == "ready" {
		_, err = manager.Surveys.Activate(ctx, s.SurveyID, "", l.once("activate/%s", s.SurveyID))
	}
	return err
}

// list is the list of a survey: each household with the collector who visits it.
func (l fieldwork) list(c *campaign) []client.HouseholdItem {
	var out []client.HouseholdItem
	for i, place := range sampler(l).listed(c) {
		h := &l.homes[place]
		collector := l.dids[collectorID(i%collectors)]
		out = append(out, client.HouseholdItem{
			HouseholdID: l.dids[h.external()], Stratum: &h.district.name, Area: &h.district.name, Collector: &collector,
			Location: &client.Place{Lat: h.lat, Lon: h.lon},
		})
	}
	return out
}

// interviews sends the interviews of all surveys, each by its collector, and notes
// where nobody was interviewed.
func (l *loader) interviews(ctx context.Context) error {
	l.counts.Interviews, l.counts.Pictures = 0, 0
	all := campaigns()
	for i := range all {
		c := &all[i]
		visits := l.visits(c)
		for j := range visits {
			if err := l.interview(ctx, &visits[j]); err != nil {
				return fmt.Errorf("interview %s: %w", visits[j].name(), err)
			}
			l.run.Progress(int64(l.counts.Interviews), 400, "interviews")
		}
		if err := l.outcomes(ctx, c, len(visits)); err != nil {
			return fmt.Errorf("outcomes of %s: %w", c.id, err)
		}
	}
	return nil
}

// responseID is the id of an interview.
func (p *plan) responseID(v *visit) string { return p.uuid("response/" + v.name()) }

// interview sends one interview with its picture.
func (l *loader) interview(ctx context.Context, v *visit) error {
	collector, err := l.as(ctx, collectorID(v.collector))
	if err != nil {
		return err
	}
	d, h := l.dice("place/"+v.name()), &l.homes[v.home]
	accuracy := float64(3 + d.IntN(9))
	draft := client.ResponseDraft{
		ResponseID: l.responseID(v), SurveyID: v.campaign.id, HouseholdID: l.dids[h.external()], Timestamp: v.begin.Add(v.length),
		StartedAt: v.begin, DurationSec: v.length.Seconds(), Mode: "visit", Language: pick(d, "en", "sw", "sw"), DeviceID: fmt.Sprintf("tablet-%d", v.collector+1),
		Location: &client.Spot{Lat: round(h.lat+(d.Float64()-0.5)*0.0003, 6), Lon: round(h.lon+(d.Float64()-0.5)*0.0003, 6), Accuracy: &accuracy},
	}
	if v.campaign.typ == "FollowUpSurvey" {
		image, hash, err := l.picture(v)
		if err != nil {
			return err
		}
		if _, err := collector.Attachments.Put(ctx, hash, "image/png", image); err != nil {
			return err
		}
		v.photo = hash
		draft.Attachments = []client.ResponseFile{{SHA256: hash, MediaType: "image/png", Name: "stove.png"}}
		l.counts.Pictures++
	}
	draft.Responses = v.campaign.answers(l.plan, v)
	if _, err := collector.Responses.SubmitTo(ctx, v.campaign.id, draft, l.once("response/%s", v.name())); err != nil {
		return err
	}
	l.counts.Interviews++
	return nil
}

// outcomes notes what came of households that were not interviewed: some have
// refused, some were not at home.
func (l *loader) outcomes(ctx context.Context, c *campaign, interviewed int) error {
	var lost []string
	for i, place := range (sampler{l}).listed(c) {
		if i < interviewed {
			continue
		}
		outcome := []string{"", "unreachable", "refused", "contacted"}[i%4]
		if outcome == "" {
			continue // nobody went there
		}
		collector, err := l.as(ctx, collectorID(i%collectors))
		if err != nil {
			return err
		}
		h := &l.homes[place]
		if _, err := collector.Surveys.SetOutcome(ctx, c.id, l.dids[h.external()], outcome, l.once("outcome/%s/%d", c.id, i)); err != nil {
			return err
		}
		if c.drawn && outcome == "unreachable" {
			lost = append(lost, l.dids[h.external()])
		}
	}
	return sampler{l}.replace(ctx, lost)
}

// closeSurveys ends the surveys whose time is over.
func (l *loader) closeSurveys(ctx context.Context) error {
	manager, err := l.as(ctx, managerID)
	if err != nil {
		return err
	}
	for _, c := range campaigns() {
		if c.open {
			continue
		}
		s, err := manager.Surveys.Get(ctx, c.id)
		if err == nil && s.Status == "active" {
			_, err = manager.Surveys.Close(ctx, c.id, "All households of the sample were visited.", l.once("close/%s", c.id))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
	}
	return nil
}
