package app

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/crossref"
	"github.com/hearth-dmrv/hearth/internal/survey/export"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
	"github.com/hearth-dmrv/hearth/internal/survey/interview"
	"github.com/hearth-dmrv/hearth/internal/survey/kpt"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
	"github.com/hearth-dmrv/hearth/internal/survey/report"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/survey/verify"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// surveys is area B.
type surveys struct {
	templates  *template.Service
	surveys    *survey.Service
	vault      *vault.Vault
	media      *media.Store
	responses  *response.Service
	offline    *intake.Batches
	drafts     *interview.Drafts
	interviews *interview.Service
	collect    *openrosa.Service
	proposals  *interview.Proposals
	verify     *verify.Service
	rules      *quality.Rulebook
	quality    *quality.Service
	figures    *statistics.Service
	reports    *report.Service
	exports    *export.Service
	sampling   *sampling.Service
	kitchens   *kpt.Service
	aims       *statistics.Indicators
	imports    *intake.Service
	crossings  *crossref.Service
}

// buildSurveys makes the services of area B, lowest first.
func (a *App) buildSurveys() {
	s := &surveys{vault: vault.New(vault.Config{Key: a.Key, Now: a.DB.Now})}
	actsFor := func(ctx context.Context) ([]string, error) { return a.twins.actsFor(ctx) } // area A is made after this one
	s.templates = template.New(template.Config{
		DB: a.DB, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, Since: a.beginOf, XForm: xformOf,
		Lease: a.changes.Lease(),
	})
	s.surveys = survey.New(survey.Config{
		DB: a.DB, Templates: s.templates, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, Vault: s.vault, Project: projectOf, Design: s.designOf, Methodology: func(ctx context.Context, ws string, m api.SurveyMethodology) (*survey.Target, error) {
			return methodologyOf(ctx, a, ws, m)
		}, Contact: a.contactOf, CheckList: asked{a}.checkList,
		Channels: a.cfg.Surveys.Channels, Asks: asksIn(a.cfg), StrictRefs: a.cfg.Server.StrictRefs, Lease: a.changes.Lease(),
	})
	s.rules = quality.NewRulebook(quality.RulebookConfig{DB: a.DB, Events: a.Events, Lease: a.changes.Lease()})
	s.media = media.New(media.Config{DB: a.DB, Key: a.Key})
	s.proposals = proposalsOf(a, s)
	s.responses = response.New(response.Config{
		DB: a.DB, Surveys: s.surveys, Vault: s.vault, Media: s.media, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, Key: a.Key,
		Log: a.log, Self: a.identity.DID.String(), Settings: s.rules.Settings,
		Stored: s.stored, Asked: s.proposals.Asked, Wiped: s.proposals.Wiped,
		Redacted: func(ctx context.Context, o *survey.Open) error { return s.exports.ForgetSurvey(ctx, o) },
	})
	s.offline = intake.NewBatches(intake.BatchesConfig{
		DB: a.DB, Surveys: s.surveys, Responses: s.responses, Vault: s.vault, Events: a.Events, Idem: a.Idem, Cursors: a.cursors,
	})
	s.drafts, s.collect = interview.NewDrafts(interview.DraftsConfig{DB: a.DB, Surveys: s.surveys, Vault: s.vault, Cursors: a.cursors}), phonesOf(a, s)
	s.verify = verify.New(verify.Config{
		DB: a.DB, Surveys: s.surveys, Responses: s.responses, Media: s.media, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, ActsFor: actsFor,
	})
	s.quality = quality.New(quality.Config{
		DB: a.DB, Surveys: s.surveys, Responses: s.responses, Templates: s.templates, Rules: s.rules, Jobs: a.Jobs, Events: a.Events, Idem: a.Idem,
		Cursors: a.cursors, Log: a.log, ActsFor: actsFor,
	})
	s.figures = statistics.New(statistics.Config{DB: a.DB, Surveys: s.surveys, Responses: s.responses, Jobs: a.Jobs})
	s.exports = export.New(export.Config{
		DB: a.DB, Surveys: s.surveys, Responses: s.responses, Media: s.media, Vault: s.vault, Exchange: a.exchange, Idem: a.Idem, Cursors: a.cursors, Weigh: s.figures.Weigh, PublicURL: a.cfg.Server.PublicURL,
	})
	s.sampling = sampling.New(sampling.Config{
		DB: a.DB, Surveys: s.surveys, Vault: s.vault, Key: a.Key, Jobs: a.Jobs, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, ActsFor: actsFor,
		Exchange: a.exchange, Project: projectOf, StrictRefs: a.cfg.Server.StrictRefs,
		Registry: func(ctx context.Context, project string, q api.SampleQuery, visit func(sampling.Row) error) (int64, error) {
			return registry(ctx, a, project, q, visit)
		},
		CheckQuery: func(ctx context.Context, q api.SampleQuery) error { return checkRegistry(ctx, a, q) },
	})
	s.aims = statistics.NewIndicators(s.figures)
	s.kitchens, s.interviews = kitchens(a, s), interview.New(interview.Config{DB: a.DB, Surveys: s.surveys, Drafts: s.drafts, Responses: s.responses, Key: a.Key})
	s.crossings = crossings(a, s)
	s.imports = intake.New(intake.Config{
		DB: a.DB, Exchange: a.exchange, Surveys: s.surveys, Responses: s.responses, Media: s.media, Idem: a.Idem, Cursors: a.cursors,
		Layout: func(o *survey.Open) intake.Layout {
			return export.NewLayout(export.LayoutConfig{Survey: o.SurveyID, Form: o.Form, Level: export.Full, Shape: export.Wide, Sample: export.EverySample()})
		},
	})
	s.buildReports(a)
	a.surveys = s
	a.changes.Follow(template.Topic, s.templates)
	a.changes.Follow(survey.Topic, s.surveys)
	a.changes.Follow(quality.Topic, s.rules)
}

// asksIn are the modes in which this server asks households of a workspace: the
// USSD line has one of its own.
func asksIn(cfg *config.Config) func(ws string) []string {
	return func(ws string) (modes []string) {
		if cfg.HasArea("c") && ws == auth.OperatorWorkspace {
			modes = append(modes, survey.USSD)
		}
		if cfg.HasArea("d") {
			modes = append(modes, survey.Chat)
		}
		return modes
	}
}

// kitchens makes what keeps kitchen tests. Area A is made after area B.
func kitchens(a *App, s *surveys) *kpt.Service {
	return kpt.New(kpt.Config{
		DB: a.DB, Vault: s.vault, Events: a.Events, Idem: a.Idem, Cursors: a.cursors,
		Household: func(ctx context.Context, q db.Querier, did string) (bool, error) { return isHousehold(ctx, q, a, did) },
		Design: func(ctx context.Context, q db.Querier, project, id string) (bool, error) {
			t, err := s.designOf(ctx, q, project, id)
			return t != nil, err
		},
	})
}

// stored removes what waited for a response that has arrived: its held content,
// and the draft it was made from.
func (s *surveys) stored(ctx context.Context, tx *db.Tx, p *response.Prepared, held bool) error {
	if held {
		if err := s.offline.Settle(ctx, tx, p); err != nil {
			return err
		}
	}
	return s.drafts.Sent(ctx, tx, p.Open(), p.Draft().ResponseID)
}

// projectOf returns what area A knows about a DID.
func projectOf(ctx context.Context, q db.Querier, ws, did string) (held, isProject bool, err error) {
	end, err := relationship.FindEnd(ctx, q, ws, did)
	if err != nil || end == nil {
		return false, false, err
	}
	return true, end.DomainType == "project", nil
}

// isHousehold reports whether a DID belongs to a household whose twin the caller
// may see. Area A is made after area B.
func isHousehold(ctx context.Context, q db.Querier, a *App, did string) (bool, error) {
	r, err := a.twins.entities.Find(ctx, q, did)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil && r.DomainType == "household", err
}

// contactOf is how a household is reached whose twin the caller may see. Area A is
// made after area B.
func (a *App) contactOf(ctx context.Context, q db.Querier, household string) (*survey.Contact, error) {
	r, err := a.twins.entities.Find(ctx, q, household)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if r.DomainType != "household" {
		return nil, nil // others' names and numbers must not be used for calls
	}
	e, err := r.Entity()
	if err != nil {
		return nil, err
	}
	var c survey.Contact
	var held map[string]jsontext.Value
	if err := json.Unmarshal(e.Properties.Value, &held); err != nil {
		return nil, fmt.Errorf("read household: %w", err)
	}
	for name, to := range map[string]*string{"name": &c.Name, "phone": &c.Phone} {
		if v := held[name]; v.Kind() == '"' {
			if err := json.Unmarshal(v, to); err != nil {
				return nil, fmt.Errorf("read %s of a household: %w", name, err)
			}
		}
	}
	if v := held["location"]; v.Kind() == '{' {
		c.Place = form.Object{Value: v}
	}
	return &c, nil
}

// beginOf is when a workspace was made.
func (c *Core) beginOf(ctx context.Context, _ db.Querier, ws string) (time.Time, error) {
	w, err := c.Auth.GetWorkspace(ctx, ws)
	if err != nil {
		return time.Time{}, err
	}
	return w.CreatedAt, nil
}

// routes enters area B into a table.
func (s *surveys) routes(api *web.API) {
	s.templates.Routes(api)
	s.surveys.Routes(api)
	s.responses.Routes(api) // with those of attachments
	s.offline.Routes(api)
	s.drafts.Routes(api)
	s.collect.AddressRoutes(api)
	s.proposals.Routes(api)
	s.verify.Routes(api)
	s.quality.Routes(api)
	s.figures.Routes(api)
	s.reports.Routes(api)
	s.exports.Routes(api)
	s.sampling.Routes(api)
	s.kitchens.Routes(api)
	s.aims.Routes(api)
	s.imports.Routes(api)
	s.crossings.Routes(api)
}

// jobs are what area B does later, and by time.
func (s *surveys) jobs(c *job.RunnerConfig) {
	maps.Copy(c.Handlers, s.quality.Handlers())
	maps.Copy(c.Handlers, s.responses.Handlers())
	maps.Copy(c.Handlers, s.sampling.Handlers())
	maps.Copy(c.Handlers, s.crossings.Handlers())
	c.Every = append(c.Every, s.quality.Every()...)
	c.Every = append(c.Every, job.Every{Kind: response.KindRows, Interval: time.Hour})
}

// erasers are what area B does to forget a household.
func (s *surveys) erasers() []erase.Eraser {
	return []erase.Eraser{
		{Name: survey.PartLists, Erase: s.surveys.Erase},
		{Name: survey.PartAnswers, Erase: s.responses.Erase},
		{Name: survey.PartDrafts, Erase: s.drafts.Erase},
		{Name: survey.PartTests, Erase: s.kitchens.Erase},
		{Name: survey.PartWaiting, Erase: s.collect.Erase},
		{Name: survey.PartAsked, Erase: s.proposals.Erase},
	}
}

// retentions are what area B keeps for a while.
func (s *surveys) retentions(config.Events) []retention {
	return []retention{
		{"unused attachments", media.Life, s.media.Expire},
		{"unsent interviews", interview.DraftLife, s.drafts.Expire},
		{"submissions that wait for files", openrosa.Patience, s.collect.Finish},
	}
}

// xformOf writes a form as an XForm.
func xformOf(f *form.Form, version int) ([]byte, error) {
	x, err := openrosa.NewForm(f, openrosa.Options{Version: version})
	if err != nil {
		return nil, err
	}
	return x.XML, nil
}

// phonesOf makes what phones with ODK Collect speak with.
func phonesOf(a *App, s *surveys) *openrosa.Service {
	return openrosa.New(openrosa.Config{
		DB: a.DB, Surveys: s.surveys, Media: s.media, Vault: s.vault, Take: s.takeOne, Stored: func(ctx context.Context, id string) (bool, error) { return isStored(ctx, a.DB, s.responses, id) }, Issue: a.issueAddress, Draw: auth.Draw, Read: s.readOne, Twins: func(ctx context.Context, o *survey.Open, l *survey.EntityList, limit int) ([]openrosa.Twin, error) {
			return listed(ctx, a, o, l, limit)
		}, PublicURL: a.cfg.Server.PublicURL, Lease: a.changes.Lease(),
	})
}

// takeOne stores a response as a batch of one.
func (s *surveys) takeOne(ctx context.Context, response jsontext.Value) (api.BatchItem, error) {
	out, err := s.offline.Take(ctx, intake.Batch{Items: []intake.BatchItem{{Value: form.Value{Value: response}}}})
	if err != nil {
		return api.BatchItem{}, err
	}
	return out.Results[0], nil
}

// readOne gives a response as the caller may read it.
func (s *surveys) readOne(ctx context.Context, id string) ([]byte, error) {
	r, err := s.responses.Get(ctx, id)
	return r.Raw, err
}

// isStored reports whether there is a response with an id.
func isStored(ctx context.Context, d *db.DB, all *response.Service, id string) (bool, error) {
	_, _, err := all.Find(ctx, d, id)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

// issueAddress makes the key of an address for ODK Collect.
func (c *Core) issueAddress(ctx context.Context, d api.CollectAddressDraft) (openrosa.Issued, error) {
	k, err := c.Auth.Create(ctx, auth.Draft{Name: d.Name, Principal: d.Collector, Scopes: []string{openrosa.Scope}, Projects: d.Projects, ExpiresAt: d.ExpiresAt})
	return openrosa.Issued{ID: k.ID, Principal: k.Principal, Text: k.Text}, err
}
